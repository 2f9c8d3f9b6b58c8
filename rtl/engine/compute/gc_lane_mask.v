// SPDX-License-Identifier: Apache-2.0
// Which lanes of a block hold a pixel inside the map, and which an image that is not padding (doc/architecture.md,
// "Folds"): lane (row, col) has pixel (row % PY, col % PY) and the image whose number in the group interleaves the
// reversed bits of row / PY and col / PY. Combinational.
`default_nettype none

module gc_lane_mask #(
    parameter GRID = 8
) (
    input  wire [1:0]           s_fold,
    input  wire [11:0]          s_y0,
    input  wire [11:0]          s_x0,
    input  wire [11:0]          s_height,
    input  wire [11:0]          s_width,
    input  wire [6:0]           s_images,   // images in the group, 0..64
    output wire [GRID*GRID-1:0] m_inside,
    output wire [GRID*GRID-1:0] m_image
);
    wire [2:0]      pixel = 3'b111 >> (2'd3 - s_fold);
    wire [2:0]      group = (GRID == 8 ? 3'b111 : 3'b011) >> s_fold;
    wire [GRID-1:0] row_inside;
    wire [GRID-1:0] col_inside;

    genvar r, c;
    generate
        for (r = 0; r < GRID; r = r + 1) begin : g_row
            localparam [2:0] R   = r;
            localparam [2:0] REV = GRID == 8 ? {R[0], R[1], R[2]} : {1'b0, R[0], R[1]};
            wire [2:0] image = REV & group;
            assign row_inside[r] = {1'b0, s_y0} + {10'd0, R & pixel} < {1'b0, s_height};
            assign col_inside[r] = {1'b0, s_x0} + {10'd0, R & pixel} < {1'b0, s_width};
            for (c = 0; c < GRID; c = c + 1) begin : g_col
                localparam [2:0] C    = c;
                localparam [2:0] CREV = GRID == 8 ? {C[0], C[1], C[2]} : {1'b0, C[0], C[1]};
                wire [2:0] col_image = CREV & group;
                wire [5:0] number = {image[2], col_image[2], image[1], col_image[1], image[0], col_image[0]};
                assign m_inside[GRID*r + c] = row_inside[r] && col_inside[c];
                assign m_image[GRID*r + c]  = {1'b0, number} < s_images;
            end
        end
    endgenerate
endmodule

`default_nettype wire
