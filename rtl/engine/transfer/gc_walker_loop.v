// SPDX-License-Identifier: Apache-2.0
// One loop of gc_vector_walker: the address of its iteration, and that of the next one. s_take: this loop or one around
// it moves, to the address s_next.
`default_nettype none

module gc_walker_loop (
    input  wire        clk,
    input  wire        start,
    input  wire [19:0] s_base,
    input  wire [15:0] s_stride,
    input  wire        s_take,
    input  wire [19:0] s_next,
    output reg  [19:0] m_addr,
    output wire [19:0] m_after
);
    assign m_after = m_addr + {4'd0, s_stride};

    always @(posedge clk)
        if (start)       m_addr <= s_base;
        else if (s_take) m_addr <= s_next;
endmodule

`default_nettype wire
