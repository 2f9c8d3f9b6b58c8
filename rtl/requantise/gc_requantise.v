// SPDX-License-Identifier: Apache-2.0
// Requantises one vector of LANES = GRID * GRID exact sums per cycle: every lane drops s_shift fraction bits with
// the rounding s_mode and saturates to DW bits. Free running without back-pressure, 4 cycles latency; shift, mode
// and random numbers belong to the word they come with and may change every cycle. Bit-exact with
// gradcore.numerics.fixed_point.requantize.
`default_nettype none

module gc_requantise #(
    parameter GRID  = 8,   // 4 or 8
    parameter ACC_W = 48,  // bits of a sum, 20..48
    parameter DW    = 16   // bits of a result, 8..16
) (
    input  wire                       clk,
    input  wire                       rst,
    input  wire                       s_valid,
    input  wire [5:0]                 s_shift,  // below ACC_W
    input  wire [1:0]                 s_mode,   // 0 truncate, 1 half-up, 2 half-even, 3 stochastic
    input  wire [GRID*GRID*ACC_W-1:0] s_acc,    // signed
    input  wire [GRID*GRID*16-1:0]    s_rnd,    // random numbers of mode 3
    output wire                       m_valid,
    output wire [GRID*GRID*DW-1:0]    m_data,   // signed
    output wire [GRID*GRID-1:0]       m_over    // lane is saturated
);
    localparam LANES = GRID * GRID;

    generate
        if (GRID != 4 && GRID != 8) begin : g_illegal_grid
            gradcore_illegal_parameter_GRID_not_4_or_8 u_stop ();
        end
        if (ACC_W < 20 || ACC_W > 48) begin : g_illegal_acc
            gradcore_illegal_parameter_ACC_W_outside_20_to_48 u_stop ();
        end
        if (DW < 8 || DW > 16) begin : g_illegal_dw
            gradcore_illegal_parameter_DW_outside_8_to_16 u_stop ();
        end
    endgenerate

    reg [3:0] valid_q;

    genvar l;
    generate
        for (l = 0; l < LANES; l = l + 1) begin : g_lane
            gc_round_shift_step #(
                .IN_W    (ACC_W),
                .OUT_W   (DW),
                .SHIFT_W (6)
            ) u_round (
                .clk     (clk),
                .s_step  ({valid_q[2:0], s_valid}),
                .s_x     (s_acc[l*ACC_W +: ACC_W]),
                .s_base  ({DW{1'b0}}),
                .s_shift (s_shift),
                .s_mode  (s_mode),
                .s_rnd   (s_rnd[l*16 +: 16]),
                .m_y     (m_data[l*DW +: DW]),
                .m_over  (m_over[l])
            );
        end
    endgenerate

    assign m_valid = valid_q[3];

    always @(posedge clk) begin
        valid_q <= {valid_q[2:0], s_valid};
        if (rst) valid_q <= 4'b0;
    end
endmodule

`default_nettype wire
