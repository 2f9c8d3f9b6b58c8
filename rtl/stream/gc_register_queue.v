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
    localparam [AW-1:0] ONE = 1;

    generate
        if (DEPTH < 2 || (DEPTH & (DEPTH-1)) != 0) begin : g_illegal_depth
            gradcore_illegal_parameter_DEPTH_must_be_a_power_of_two_above_1 u_stop ();
        end
    endgenerate

    reg [WIDTH-1:0] word_q [0:DEPTH-1];
    reg [AW-1:0]    wr_q;
    reg [AW-1:0]    wr_next_q;   // wr_q + 1
    reg [AW-1:0]    rd_q;
    reg [AW-1:0]    rd_next_q;   // rd_q + 1
    reg             room_q;
    reg             valid_q;
    wire            fills   = s_push && wr_next_q == rd_q;
    wire            empties = s_pop && rd_next_q == wr_q;

    assign m_room  = room_q;
    assign m_valid = valid_q;
    assign m_data  = word_q[rd_q];

    always @(posedge clk) begin
        if (room_q) word_q[wr_q] <= s_data;    // counts with the push
        if (s_push) begin
            wr_q      <= wr_next_q;
            wr_next_q <= wr_next_q + ONE;
        end
        if (s_pop) begin
            rd_q      <= rd_next_q;
            rd_next_q <= rd_next_q + ONE;
        end
        room_q  <= s_pop  || (room_q && !fills);
        valid_q <= s_push || (valid_q && !empties);
        if (rst) begin
            wr_q      <= {AW{1'b0}};
            wr_next_q <= ONE;
            rd_q      <= {AW{1'b0}};
            rd_next_q <= ONE;
            room_q    <= 1'b1;
            valid_q   <= 1'b0;
        end
    end
endmodule

`default_nettype wire
