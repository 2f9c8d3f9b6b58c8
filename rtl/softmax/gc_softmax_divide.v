// SPDX-License-Identifier: Apache-2.0
// After `start` reads the sums of all slices, one slice of SLICE lanes after the other, and writes reciprocal, length
// and logarithm of each: 2^(24 + length) / sum, rounded down, the sum's length in bits less 25, and log2 of the sum,
// of 16 fraction bits, less 24. 72 cycles for a slice; m_busy from the cycle after start to the last write. Bit-exact
// with gradcore.ops.softmax (reciprocals of probabilities, log2_sum). A sum is in m_rd's next cycle; it is at least
// 2^24.
`default_nettype none

module gc_softmax_divide #(
    parameter SLICE  = 4,   // lanes of a slice
    parameter SLICES = 16   // a power of two
) (
    input  wire                      clk,
    input  wire                      rst,
    input  wire                      start,
    output wire                      m_busy,
    output wire                      m_rd,
    output wire [$clog2(SLICES)-1:0] m_slice,       // that is read or written
    input  wire [SLICE*40-1:0]       s_sum,
    output wire                      m_wr,
    output wire [SLICE*26-1:0]       m_reciprocal,
    output wire [SLICE*4-1:0]        m_length,
    output wire [SLICE*20-1:0]       m_log
);
    localparam W = $clog2(SLICES);
    // Cycles of a slice: 0 reads, 1 takes, 2..16 shift, 18..69 divide, 71 writes.
    localparam [6:0] TAKE = 7'd1, ALIGNED = 7'd17, FIRST = 7'd18, BEHIND = 7'd70, LAST = 7'd71;
    localparam [W-1:0] ONE = 1;

    reg         busy_q;
    reg [6:0]   at_q;
    reg [W-1:0] slice_q;
    wire        divides = at_q >= FIRST && at_q < BEHIND;

    assign m_busy  = busy_q;
    assign m_rd    = busy_q && at_q == 7'd0;
    assign m_wr    = busy_q && at_q == LAST;
    assign m_slice = slice_q;

    always @(posedge clk) begin
        at_q <= start || !busy_q || at_q == LAST ? 7'd0 : at_q + 7'd1;
        if (start)     slice_q <= {W{1'b0}};
        else if (m_wr) slice_q <= slice_q + ONE;
        if (start)                 busy_q <= 1'b1;
        else if (m_wr && &slice_q) busy_q <= 1'b0;
        if (rst)                   busy_q <= 1'b0;
    end

    // The logarithms' fractions come one lane after the other, while the quotients do.
    wire [SLICE*10-1:0] rests;
    wire [15:0]         fraction;
    wire [6:0]          lane = at_q - FIRST;
    wire [9:0]          rest = rests[lane[1:0]*10 +: 10];
    gc_softmax_log u_log (.clk(clk), .s_rest(SLICE > 1 ? rest : rests[9:0]), .m_log(fraction));

    genvar l;
    generate
        for (l = 0; l < SLICE; l = l + 1) begin : g_lane
            localparam [6:0] TURN = 7'd19 + l;
            reg  [15:0] fraction_q;

            gc_softmax_divide_lane u_lane (
                .clk(clk), .s_load(at_q == TAKE), .s_align(at_q > TAKE && at_q < ALIGNED),
                .s_low(divides && !at_q[0]), .s_high(divides && at_q[0]), .s_sum(s_sum[l*40 +: 40]),
                .m_rest(rests[l*10 +: 10]), .m_length(m_length[l*4 +: 4]), .m_quotient(m_reciprocal[l*26 +: 26])
            );
            always @(posedge clk) if (at_q == TURN) fraction_q <= fraction;
            assign m_log[l*20 +: 20] = {m_length[l*4 +: 4], fraction_q};
        end
    endgenerate

    wire _unused = &{1'b0, lane[6:2]};
endmodule

`default_nettype wire
