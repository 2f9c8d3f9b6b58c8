// SPDX-License-Identifier: Apache-2.0
// Rows (or columns) of an up-sampled vector: position p takes entry insert(p >> 1, s_pool_bit, s_q) of GRID entries,
// where insert puts the bit s_q at place s_pool_bit and moves the bits from there on up, or its own entry when
// s_spread is low. Combinational; positions see 3 to 7 of the entries.
`default_nettype none

module gc_upsample_axis #(
    parameter GRID = 8,  // 4 or 8
    parameter W    = 16
) (
    input  wire              s_spread,
    input  wire [1:0]        s_pool_bit,  // below log2 GRID
    input  wire              s_q,
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

            wire [W-1:0] own  = s_data[p*W +: W];
            wire [W-1:0] low0 = s_data[LOW*W +: W];
            wire [W-1:0] low1 = s_data[(LOW+1)*W +: W];
            wire [W-1:0] mid0 = s_data[MID*W +: W];
            wire [W-1:0] mid1 = s_data[(MID+2)*W +: W];
            wire [W-1:0] top0 = s_data[TOP*W +: W];
            wire [W-1:0] top1 = s_data[(TOP+STEP)*W +: W];
            reg  [W-1:0] choice;

            always @* begin
                choice = own;
                case ({s_spread, s_pool_bit, s_q})
                    4'b1000: choice = low0;
                    4'b1001: choice = low1;
                    4'b1010: choice = mid0;
                    4'b1011: choice = mid1;
                    4'b1100: choice = top0;
                    4'b1101: choice = top1;
                    default: choice = own;
                endcase
            end

            assign m_data[p*W +: W] = choice;
        end
    endgenerate
endmodule

`default_nettype wire
