// SPDX-License-Identifier: Apache-2.0
// First-in first-out buffer of a stream with room for DEPTH words. One word in and one out per cycle; a word that
// enters an empty FIFO stands at the output 3 cycles later; s_ready and m_valid leave from registers. The words live
// in a gc_ram_sdp. sts_level counts the words inside. Obeys doc/streams.md.
`default_nettype none

module gc_stream_fifo #(
    parameter WIDTH = 8,
    parameter DEPTH = 16    // power of two, at least 2
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire                   s_valid,
    output wire                   s_ready,
    input  wire [WIDTH-1:0]       s_data,
    output wire                   m_valid,
    input  wire                   m_ready,
    output wire [WIDTH-1:0]       m_data,
    output wire [$clog2(DEPTH):0] sts_level
);
    localparam AW = $clog2(DEPTH);

    generate
        if (DEPTH < 2 || (DEPTH & (DEPTH-1)) != 0) begin : g_illegal_depth
            gradcore_illegal_parameter_DEPTH_must_be_a_power_of_two_above_1 u_stop ();
        end
    endgenerate

    // wr_q: written; seen_q: written at least one cycle ago, so readable; rd_q: taken into the output register.
    reg [AW:0] wr_q;
    reg [AW:0] seen_q;
    reg [AW:0] rd_q;
    reg        full_q;
    reg        valid_q;
    reg [AW:0] level_q;

    wire push  = s_valid && s_ready;
    wire pop   = m_valid && m_ready;
    wire fetch = (seen_q != rd_q) && (!valid_q || m_ready);
    wire [AW:0] level_next = level_q + {{AW{1'b0}}, push} - {{AW{1'b0}}, pop};

    assign s_ready   = !full_q;
    assign m_valid   = valid_q;
    assign sts_level = level_q;

    gc_ram_sdp #(.WIDTH(WIDTH), .DEPTH(DEPTH), .OLD_WORD(0)) u_ram (
        .clk(clk),
        .s_wr_en(push), .s_wr_addr(wr_q[AW-1:0]), .s_wr_data(s_data),
        .s_rd_en(fetch), .s_rd_addr(rd_q[AW-1:0]), .m_rd_data(m_data)
    );

    always @(posedge clk) begin
        if (push)  wr_q <= wr_q + {{AW{1'b0}}, 1'b1};
        if (fetch) rd_q <= rd_q + {{AW{1'b0}}, 1'b1};
        seen_q  <= wr_q;
        valid_q <= fetch || (valid_q && !m_ready);
        level_q <= level_next;
        full_q  <= level_next[AW];
        if (rst) begin
            wr_q    <= {(AW+1){1'b0}};
            seen_q  <= {(AW+1){1'b0}};
            rd_q    <= {(AW+1){1'b0}};
            level_q <= {(AW+1){1'b0}};
            full_q  <= 1'b0;
            valid_q <= 1'b0;
        end
    end
endmodule

`default_nettype wire
