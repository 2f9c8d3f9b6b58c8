// SPDX-License-Identifier: Apache-2.0
// Packs one whole vector in its storage fold as an access record of an operand buffer: no displacement; lanes outside the map of s_height x
// s_width pixels, 4095 for any, read as zero and are not written. Wires only.
`default_nettype none

module gc_natural_access (
    input  wire [19:0]  s_addr,
    input  wire [11:0]  s_y0,
    input  wire [11:0]  s_x0,
    input  wire [15:0]  s_chan,
    input  wire [1:0]   s_fold,
    input  wire [11:0]  s_height,
    input  wire [11:0]  s_width,
    output wire [141:0] m_access
);
    assign m_access = {s_width, s_height, 6'd0, s_fold, s_fold, 32'd0, s_chan, 16'd0, s_x0, s_y0, s_addr};
endmodule

`default_nettype wire
