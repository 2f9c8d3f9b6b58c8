// SPDX-License-Identifier: Apache-2.0
// Coordinates i and j of the random numbers for every row and column of a folded vector: row r holds pixel row
// y0 + r % 2^fold of image row r >> fold, column c likewise, and the image bits go bit-reversed below the number of
// the group's first image. One vector per cycle, 1 cycle latency, free running without back-pressure. No adder:
// y0 and x0 are multiples of 2^fold and s_image of the images in a group, so the parts never overlap. Bit-exact
// with i and j of doc/numerics.md, "Random numbers by position".
`default_nettype none

module gc_fold_coordinates #(
    parameter GRID = 8  // 4 or 8
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               s_valid,
    input  wire [11:0]        s_y0,     // block origin, multiple of 2^fold
    input  wire [11:0]        s_x0,
    input  wire [1:0]         s_fold,   // 0..log2 GRID
    input  wire [15:0]        s_image,  // the group's first image, multiple of (GRID >> fold)^2
    output reg                m_valid,
    output wire [GRID*32-1:0] m_i,      // one per row
    output wire [GRID*32-1:0] m_j       // one per column
);
    localparam LOG = GRID == 8 ? 3 : 2;

    generate
        if (GRID != 4 && GRID != 8) begin : g_illegal_grid
            gradcore_illegal_parameter_GRID_not_4_or_8 u_stop ();
        end
    endgenerate

    // Masks of the lane index bits that say the pixel, and of the image number bits that say the lane.
    wire [3:0] pixels = 4'b0001 << s_fold;
    wire [2:0] images = 3'b111 >> (3 - LOG) >> s_fold;
    wire [2:0] pixel_mask = pixels[2:0] - 3'd1;

    wire [7:0] image_odd  = {s_image[15], s_image[13], s_image[11], s_image[9],
                             s_image[7], s_image[5], s_image[3], s_image[1]};
    wire [7:0] image_even = {s_image[14], s_image[12], s_image[10], s_image[8],
                             s_image[6], s_image[4], s_image[2], s_image[0]};

    genvar g;
    generate
        for (g = 0; g < GRID; g = g + 1) begin : g_axis
            localparam [2:0] INDEX = g;
            // The lowest image bit stands in the highest place of the lane index.
            localparam [2:0] REVERSED = LOG == 3 ? {INDEX[0], INDEX[1], INDEX[2]} : {1'b0, INDEX[0], INDEX[1]};

            reg [11:0] y_q;
            reg [11:0] x_q;
            reg [7:0]  odd_q;
            reg [7:0]  even_q;

            always @(posedge clk) if (s_valid) begin
                y_q    <= s_y0 | {9'b0, INDEX & pixel_mask};
                x_q    <= s_x0 | {9'b0, INDEX & pixel_mask};
                odd_q  <= image_odd | {5'b0, REVERSED & images};
                even_q <= image_even | {5'b0, REVERSED & images};
            end

            assign m_i[g*32 +: 32] = {12'b0, y_q, odd_q};
            assign m_j[g*32 +: 32] = {12'b0, x_q, even_q};
        end
    endgenerate

    always @(posedge clk) begin
        m_valid <= s_valid;
        if (rst) m_valid <= 1'b0;
    end

    wire _unused = pixels[3];
endmodule

`default_nettype wire
