// SPDX-License-Identifier: Apache-2.0
// Takes an access record apart into its fields, as gc_access_pack has put them together. Wires only.
`default_nettype none

module gc_access_unpack #(
    parameter ACCESS_W = 1     // bits of a record: gc_engine says how many
) (
    input  wire [ACCESS_W-1:0] s_access,
    output wire [19:0]         m_addr,
    output wire [11:0]         m_y0,
    output wire [11:0]         m_x0,
    output wire [7:0]          m_dy,
    output wire [7:0]          m_dx,
    output wire [15:0]         m_chan,
    output wire [15:0]         m_stride_y,
    output wire [15:0]         m_stride_x,
    output wire [1:0]          m_fold_a,
    output wire [1:0]          m_fold_s,
    output wire [2:0]          m_rot_y,
    output wire [2:0]          m_rot_x,
    output wire [11:0]         m_height,
    output wire [11:0]         m_width
);
    assign {m_width, m_height, m_rot_x, m_rot_y, m_fold_s, m_fold_a, m_stride_x, m_stride_y,
            m_chan, m_dx, m_dy, m_x0, m_y0, m_addr} = s_access;
endmodule

`default_nettype wire
