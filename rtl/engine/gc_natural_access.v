// SPDX-License-Identifier: Apache-2.0
// Packs one whole vector in its storage fold as an access record of an operand buffer: no displacement, every lane inside the map. Wires only.
`default_nettype none

module gc_natural_access (
    input  wire [19:0]  s_addr,
    input  wire [11:0]  s_y0,
    input  wire [11:0]  s_x0,
    input  wire [15:0]  s_chan,
    input  wire [1:0]   s_fold,
    output wire [141:0] m_access
);
    localparam [23:0] UNBOUNDED = 24'hffffff;   // width, height

    assign m_access = {UNBOUNDED, 6'd0, s_fold, s_fold, 32'd0, s_chan, 16'd0, s_x0, s_y0, s_addr};
endmodule

`default_nettype wire
