// SPDX-License-Identifier: Apache-2.0
// The table of VECTOR (doc/instructions.md): 1025 points of 16 bits, of which LANES places look up two neighbours per
// cycle, 4 cycles latency, free running. Each lane has the points with an even and those with an odd number in a memory
// of its own. A load fills them from point 0 on with the words of beats, two per cycle; s_start begins it, words behind
// the last point are dropped. s_scrub makes the points at s_scrub_addr and behind it zero.
`default_nettype none

module gc_vector_table #(
    parameter LANES = 16,
    parameter MEM_W = 512
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                s_scrub,
    input  wire [8:0]          s_scrub_addr,   // of a pair of points
    input  wire                s_start,
    input  wire                s_valid,        // a beat of points
    output wire                s_ready,
    input  wire [MEM_W-1:0]    s_data,
    output wire                sts_idle,       // no points are on their way
    input  wire [LANES*16-1:0] s_place,        // signed: segment in the upper ten bits
    output wire [LANES*16-1:0] m_point,        // signed: at the segment's begin
    output wire [LANES*16-1:0] m_next          // at its end
);
    reg  [9:0]  pair_q;         // the next pair of points; 513: the table is full
    wire        pair_valid, free;
    wire [31:0] pair;
    wire        full = pair_q[9] && pair_q[0];
    wire        last = pair_q[9] && !pair_q[0];

    assign s_ready  = free || full;
    assign sts_idle = !pair_valid;
    gc_stream_downsize #(.WIDTH(32), .RATIO(MEM_W/32)) u_pairs (
        .clk(clk), .rst(rst), .s_valid(s_valid && !full), .s_ready(free), .s_data(s_data),
        .m_valid(pair_valid), .m_ready(1'b1), .m_flush(full), .m_data(pair)
    );

    reg        write_q;
    reg [8:0]  write_addr_q;
    reg [31:0] write_data_q;
    reg [15:0] end_q;           // point 1024
    always @(posedge clk) begin
        if (s_start)                  pair_q <= 10'd0;
        else if (pair_valid && !full) pair_q <= pair_q + 10'd1;
        write_q      <= s_scrub || (pair_valid && !pair_q[9]);
        write_addr_q <= s_scrub ? s_scrub_addr : pair_q[8:0];
        write_data_q <= s_scrub ? 32'd0 : pair;
        if (s_scrub)                  end_q <= 16'd0;
        else if (pair_valid && last)  end_q <= pair[15:0];
    end

    genvar i;
    generate
        for (i = 0; i < LANES; i = i + 1) begin : g_lane
            wire [15:0] place = s_place[i*16 +: 16];
            wire [9:0]  segment = {!place[15], place[14:6]};
            reg  [9:0]  even_q;       // number of the pair of the even point
            reg  [8:0]  odd_q;
            reg  [1:0]  above_q;      // the segment begins at its odd point
            reg  [1:0]  end_at_q;
            reg  [15:0] point_q;
            reg  [15:0] next_q;
            reg         above_now_q;
            reg         end_now_q;
            wire [15:0] even_word, odd_word;
            wire [15:0] even = end_at_q[1] ? end_q : even_word;
            gc_ram_sdp #(.WIDTH(16), .DEPTH(512), .OUT_REG(1), .OLD_WORD(0)) u_even (
                .clk(clk), .s_wr_en(write_q), .s_wr_addr(write_addr_q), .s_wr_data(write_data_q[15:0]),
                .s_rd_en(1'b1), .s_rd_addr(even_q[8:0]), .m_rd_data(even_word)
            );
            gc_ram_sdp #(.WIDTH(16), .DEPTH(512), .OUT_REG(1), .OLD_WORD(0)) u_odd (
                .clk(clk), .s_wr_en(write_q), .s_wr_addr(write_addr_q), .s_wr_data(write_data_q[31:16]),
                .s_rd_en(1'b1), .s_rd_addr(odd_q), .m_rd_data(odd_word)
            );
            always @(posedge clk) begin
                even_q      <= {1'b0, segment[9:1]} + {9'd0, segment[0]};
                odd_q       <= segment[9:1];
                above_now_q <= segment[0];
                end_now_q   <= &segment;
                above_q     <= {above_q[0], above_now_q};
                end_at_q    <= {end_at_q[0], end_now_q};
                point_q     <= above_q[1] ? odd_word : even_word;
                next_q      <= above_q[1] ? even : odd_word;
            end
            assign m_point[i*16 +: 16] = point_q;
            assign m_next[i*16 +: 16]  = next_q;
            wire _unused = &{1'b0, even_q[9], place[5:0]};
        end
    endgenerate
endmodule

`default_nettype wire
