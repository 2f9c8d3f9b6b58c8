// SPDX-License-Identifier: Apache-2.0
// Writes the result of a VECTOR in the order in which gc_window_walker makes it: row by row, of each the parts of up to
// PART beats, of each its pixels. What is contiguous so is one transfer, else each part of a row is one. With
// cfg_behind each part of a pixel is followed by that of its indices, which go so many beats behind it. `start` begins
// 4 cycles later; cfg_* are stable until m_done, which says that the memory has confirmed all.
`default_nettype none

module gc_vector_result #(
    parameter ADDR_W = 48,
    parameter BURST  = 32,
    parameter MEM_W  = 512,
    parameter PART   = 64,                        // beats, power of two
    parameter W      = ADDR_W - $clog2(MEM_W/8)   // bits of an address in beats
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               start,
    input  wire [W-1:0]       cfg_out,       // in beats
    input  wire [31:0]        cfg_behind,    // in bytes, a multiple of the beat; 0: no indices
    input  wire [15:0]        cfg_n_beats,
    input  wire [15:0]        cfg_n_y,
    input  wire [15:0]        cfg_n_x,
    input  wire               s_valid,
    output wire               s_ready,
    input  wire [MEM_W-1:0]   s_data,
    output reg                m_done,
    output wire               m_wreq_valid,
    input  wire               m_wreq_ready,
    output wire [ADDR_W-1:0]  m_wreq_addr,
    output wire [7:0]         m_wreq_len,
    output wire               m_wdat_valid,
    input  wire               m_wdat_ready,
    output wire [MEM_W-1:0]   m_wdat_data,
    output wire [MEM_W/8-1:0] m_wdat_strb,
    output wire               m_wdat_last,
    input  wire               s_wrsp_valid
);
    localparam BEAT = $clog2(MEM_W/8);
    localparam [15:0]  MOST = PART[15:0];
    localparam [W-1:0] HOP  = PART;

    // ---- What a transfer is
    reg        indexed_q, whole_q, fits_q;
    reg [31:0] row_beats_q;       // of a row of the result
    reg [15:0] left_q;            // beats of a pixel from this part on
    reg [15:0] rows_q;            // from this one on
    reg [31:0] run_q;
    reg [15:0] n1_q, n2_q;
    reg [31:0] stride1_q, stride2_q;
    wire       last_part = whole_q || left_q <= MOST;
    wire       last      = whole_q || (last_part && rows_q == 16'd1);
    always @(posedge clk) begin
        indexed_q   <= |cfg_behind;
        fits_q      <= cfg_n_beats <= MOST;
        whole_q     <= (cfg_n_x == 16'd1 || fits_q) && !indexed_q;
        row_beats_q <= cfg_n_x * cfg_n_beats;
        run_q       <= whole_q ? row_beats_q : {16'd0, left_q <= MOST ? left_q : MOST};
        n1_q        <= whole_q ? cfg_n_y : indexed_q ? 16'd2 : 16'd1;
        stride1_q   <= whole_q ? row_beats_q << BEAT : cfg_behind;
        n2_q        <= whole_q ? 16'd1 : cfg_n_x;
        stride2_q   <= {16'd0, cfg_n_beats} << BEAT;
    end

    // ---- Where: a sum takes two cycles, its transfer begins in the fourth
    reg  [3:0]   wait_q;
    reg          valid_q;
    reg  [W-1:0] at_q;            // of the transfer
    reg  [W-1:0] row_q;           // of the row
    reg          first_q;         // it is the first one
    reg          down_q;          // it begins a row
    wire [W-1:0] next;
    wire         ready, done;
    wire [W-1:0] line = {{(W-32+BEAT){1'b0}}, row_beats_q[31-BEAT:0]};
    gc_vector_sum #(.W(W)) u_next (
        .clk(clk), .s_a(last_part ? row_q : at_q), .s_b(last_part ? line : HOP), .m_sum(next)
    );
    always @(posedge clk) begin
        wait_q <= {wait_q[2:0], start || (done && !last)};
        if (start)                  first_q <= 1'b1;
        else if (wait_q[3])         first_q <= 1'b0;
        if (start)                  down_q  <= 1'b1;
        else if (done)              down_q  <= last_part;
        if (wait_q[0]) begin
            at_q <= first_q ? cfg_out : next;
            if (down_q) row_q <= first_q ? cfg_out : next;
        end
        if (start) begin
            left_q <= cfg_n_beats;
            rows_q <= cfg_n_y;
        end else if (done) begin
            left_q <= last_part ? cfg_n_beats : left_q - MOST;
            if (last_part) rows_q <= rows_q - 16'd1;
        end
        if (wait_q[3])  valid_q <= 1'b1;
        else if (ready) valid_q <= 1'b0;
        m_done <= done && last;
        if (rst) begin
            wait_q  <= 4'd0;
            valid_q <= 1'b0;
            m_done  <= 1'b0;
        end
    end

    wire [1:0] status_unused;
    gc_dma_writer #(.ADDR_W(ADDR_W), .MEM_W(MEM_W), .MAX_BURST(BURST)) u_writer (
        .clk(clk), .rst(rst), .s_desc_valid(valid_q), .s_desc_ready(ready), .s_addr({at_q, {BEAT{1'b0}}}),
        .s_run_beats(run_q), .s_n1(n1_q), .s_stride1(stride1_q), .s_n2(n2_q), .s_stride2(stride2_q),
        .s_valid(s_valid), .s_ready(s_ready), .s_data(s_data), .s_strb({(MEM_W/8){1'b1}}),
        .m_done(done), .sts_starved(status_unused[0]), .sts_empty(status_unused[1]),
        .m_wreq_valid(m_wreq_valid), .m_wreq_ready(m_wreq_ready), .m_wreq_addr(m_wreq_addr), .m_wreq_len(m_wreq_len),
        .m_wdat_valid(m_wdat_valid), .m_wdat_ready(m_wdat_ready), .m_wdat_data(m_wdat_data),
        .m_wdat_strb(m_wdat_strb), .m_wdat_last(m_wdat_last), .s_wrsp_valid(s_wrsp_valid)
    );

    wire _unused = &{1'b0, status_unused};
endmodule

`default_nettype wire
