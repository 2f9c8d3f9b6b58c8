// SPDX-License-Identifier: Apache-2.0
// Part of gc_rotator2d: turns a GRID x GRID square by half its rows, half its columns, or both. Each bit is a
// multiplexer of four, which fills a LUT of six inputs. In a module of its own a tool that keeps the hierarchy sees
// that.
`default_nettype none

module gc_exchange_halves #(
    parameter GRID = 8,
    parameter W    = 16
) (
    input  wire                   s_rows,
    input  wire                   s_columns,
    input  wire [GRID*GRID*W-1:0] s_data,
    output wire [GRID*GRID*W-1:0] m_data
);
    genvar r, c;
    generate
        for (r = 0; r < GRID; r = r + 1) begin : g_row
            for (c = 0; c < GRID; c = c + 1) begin : g_column
                localparam FAR_R = (r + GRID/2) % GRID;
                localparam FAR_C = (c + GRID/2) % GRID;
                wire [W-1:0] near = s_data[(GRID*r + c)*W +: W];
                wire [W-1:0] side = s_data[(GRID*r + FAR_C)*W +: W];
                wire [W-1:0] over = s_data[(GRID*FAR_R + c)*W +: W];
                wire [W-1:0] both = s_data[(GRID*FAR_R + FAR_C)*W +: W];
                assign m_data[(GRID*r + c)*W +: W] = s_rows ? (s_columns ? both : over) : (s_columns ? side : near);
            end
        end
    endgenerate
endmodule

`default_nettype wire
