// SPDX-License-Identifier: Apache-2.0
// The access record of one whole vector in its storage fold: no displacement. Lanes outside the map of s_height x
// s_width pixels, 4095 for any, read as zero and are not written. s_rot_y, s_rot_x: rows and columns of pixels before
// the block that s_y0 and s_x0 count from, modulo GRID. Wires only.
`default_nettype none

module gc_natural_access #(
    parameter ACCESS_W = 1     // bits of a record: gc_engine says how many
) (
    input  wire [19:0]         s_addr,
    input  wire [11:0]         s_y0,
    input  wire [11:0]         s_x0,
    input  wire [15:0]         s_chan,
    input  wire [1:0]          s_fold,
    input  wire [2:0]          s_rot_y,
    input  wire [2:0]          s_rot_x,
    input  wire [11:0]         s_height,
    input  wire [11:0]         s_width,
    output wire [ACCESS_W-1:0] m_access
);
    gc_access_pack #(.ACCESS_W(ACCESS_W)) u_pack (
        .s_addr(s_addr),
        .s_y0(s_y0), .s_x0(s_x0),
        .s_dy(8'd0), .s_dx(8'd0),
        .s_chan(s_chan),
        .s_stride_y(16'd0), .s_stride_x(16'd0),
        .s_fold_a(s_fold), .s_fold_s(s_fold),
        .s_rot_y(s_rot_y), .s_rot_x(s_rot_x),
        .s_height(s_height), .s_width(s_width),
        .m_access(m_access)
    );
endmodule

`default_nettype wire
