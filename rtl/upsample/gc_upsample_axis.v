// SPDX-License-Identifier: Apache-2.0
// Rows (or columns) of an up-sampled vector: position p takes entry insert(p >> 1, pool_bit, q) of GRID entries, where
// insert puts the bit q at place pool_bit and moves the bits from there on up. Combinational; positions see 2 to 6 of
// the entries.
`default_nettype none

module gc_upsample_axis #(
    parameter GRID = 8,  // 4 or 8
    parameter W    = 16
) (
    input  wire [2:0]        s_choice,    // {pool_bit, q}, pool_bit below log2 GRID
    input  wire [GRID*W-1:0] s_data,
    output wire [GRID*W-1:0] m_data
);
    genvar p;
    generate
        for (p = 0; p < GRID; p = p + 1) begin : g_position
            localparam HALF = p / 2;
            localparam LOW  = HALF * 2;                          // q at place 0
            localparam MID  = (HALF / 2) * 4 + HALF % 2;         // q at place 1
            localparam TOP  = GRID == 8 ? HALF : MID;            // q at place 2: GRID 8 only
            localparam STEP = GRID == 8 ? 4 : 2;

            wire [W-1:0] low0 = s_data[LOW*W +: W];
            wire [W-1:0] low1 = s_data[(LOW+1)*W +: W];
            wire [W-1:0] mid0 = s_data[MID*W +: W];
            wire [W-1:0] mid1 = s_data[(MID+2)*W +: W];
            wire [W-1:0] top0 = s_data[TOP*W +: W];
            wire [W-1:0] top1 = s_data[(TOP+STEP)*W +: W];
            reg  [W-1:0] choice;

            always @* begin
                choice = top1;
                case (s_choice)
                    3'd0: choice = low0;
                    3'd1: choice = low1;
                    3'd2: choice = mid0;
                    3'd3: choice = mid1;
                    3'd4: choice = top0;
                    default: choice = top1;
                endcase
            end

            assign m_data[p*W +: W] = choice;
        end
    endgenerate
endmodule

`default_nettype wire
