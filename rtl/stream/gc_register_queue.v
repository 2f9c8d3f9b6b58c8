// SPDX-License-Identifier: Apache-2.0
// A short queue held in registers: the oldest word stands on m_data from the cycle after its push, with no latency in
// between. m_room says that a push is allowed, m_valid that a pop is. For queues of a few words whose answer may be
// needed in the very next cycle; longer ones are gc_stream_fifo.
`default_nettype none

module gc_register_queue #(
    parameter WIDTH = 4,
    parameter DEPTH = 4     // power of two, at least 2
) (
    input  wire             clk,
    input  wire             rst,
    input  wire             s_push,
    input  wire [WIDTH-1:0] s_data,
    output wire             m_room,
    output wire             m_valid,
    input  wire             s_pop,
    output wire [WIDTH-1:0] m_data
);
    localparam AW = $clog2(DEPTH);
    localparam [AW:0] ONE  = 1;
    localparam [AW:0] FULL = DEPTH[AW:0];

    generate
        if (DEPTH < 2 || (DEPTH & (DEPTH-1)) != 0) begin : g_illegal_depth
            gradcore_illegal_parameter_DEPTH_must_be_a_power_of_two_above_1 u_stop ();
        end
    endgenerate

    reg [WIDTH-1:0] word_q [0:DEPTH-1];
    reg [AW:0]      wr_q;
    reg [AW:0]      rd_q;
    reg             room_q;
    reg             valid_q;
    wire [AW:0]     level = wr_q - rd_q;

    assign m_room  = room_q;
    assign m_valid = valid_q;
    assign m_data  = word_q[rd_q[AW-1:0]];

    always @(posedge clk) begin
        if (room_q) word_q[wr_q[AW-1:0]] <= s_data;    // counts with the push
        if (s_push) wr_q <= wr_q + ONE;
        if (s_pop)  rd_q <= rd_q + ONE;
        room_q  <= s_pop  || (!level[AW] && !(s_push && level == FULL - ONE));
        valid_q <= s_push || (|level && !(s_pop && level == ONE));
        if (rst) begin
            wr_q    <= {(AW+1){1'b0}};
            rd_q    <= {(AW+1){1'b0}};
            room_q  <= 1'b1;
            valid_q <= 1'b0;
        end
    end
endmodule

`default_nettype wire
