// SPDX-License-Identifier: Apache-2.0
// Copies a pooled vector to the lanes of one of its four up-sampled vectors: lane (r, c) takes pooled lane
// (insert(r >> 1, pool_bit, qy), insert(c >> 1, pool_bit, qx)), where insert puts a bit at a place and moves those from
// there on up. Combinational. On whole maps it is gradcore.ops.max_pooling.upsample.
`default_nettype none

module gc_upsample_spread #(
    parameter GRID = 8,  // 4 or 8
    parameter DW   = 16
) (
    input  wire [2:0]              s_choice_y,  // of gc_upsample_axis
    input  wire [2:0]              s_choice_x,
    input  wire [GRID*GRID*DW-1:0] s_data,
    output wire [GRID*GRID*DW-1:0] m_data
);
    // Rows first, then columns: a lane needs two small choices instead of one of their product.
    localparam ROW_W = GRID * DW;

    wire [GRID*ROW_W-1:0] rows;

    gc_upsample_axis #(.GRID(GRID), .W(ROW_W)) u_rows (
        .s_choice (s_choice_y),
        .s_data   (s_data),
        .m_data   (rows)
    );

    genvar r;
    generate
        for (r = 0; r < GRID; r = r + 1) begin : g_row
            gc_upsample_axis #(.GRID(GRID), .W(DW)) u_cols (
                .s_choice (s_choice_x),
                .s_data   (rows[r*ROW_W +: ROW_W]),
                .m_data   (m_data[r*ROW_W +: ROW_W])
            );
        end
    endgenerate
endmodule

`default_nettype wire
