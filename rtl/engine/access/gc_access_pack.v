// SPDX-License-Identifier: Apache-2.0
// Packs the fields of an access into one record (doc/architecture.md, "Access records"). Here and in gc_access_unpack
// is all that knows their order. Wires only.
`default_nettype none

module gc_access_pack #(
    parameter ACCESS_W = 1     // bits of a record: gc_engine says how many
) (
    input  wire [19:0]         s_addr,
    input  wire [11:0]         s_y0,
    input  wire [11:0]         s_x0,
    input  wire [7:0]          s_dy,
    input  wire [7:0]          s_dx,
    input  wire [15:0]         s_chan,
    input  wire [15:0]         s_stride_y,
    input  wire [15:0]         s_stride_x,
    input  wire [1:0]          s_fold_a,
    input  wire [1:0]          s_fold_s,
    input  wire [2:0]          s_rot_y,
    input  wire [2:0]          s_rot_x,
    input  wire [11:0]         s_height,
    input  wire [11:0]         s_width,
    output wire [ACCESS_W-1:0] m_access
);
    assign m_access = {s_width, s_height, s_rot_x, s_rot_y, s_fold_s, s_fold_a, s_stride_x, s_stride_y,
                       s_chan, s_dx, s_dy, s_x0, s_y0, s_addr};
endmodule

`default_nettype wire
