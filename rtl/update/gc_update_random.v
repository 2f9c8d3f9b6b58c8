// SPDX-License-Identifier: Apache-2.0
// Random numbers of one row of parameters (doc/numerics.md, "Random numbers by position"): for each of COLS output
// maps three 16-bit numbers, for the gradient, the momentum and the weight. One row per cycle, 11 cycles latency, free
// running. Bit-exact with gradcore.numerics.random_numbers.position_random.
`default_nettype none

module gc_update_random #(
    parameter COLS = 16
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire                 s_on,      // the first stage moves
    input  wire                 s_valid,   // with a row
    input  wire [31:0]          s_seed,
    input  wire [15:0]          s_tag,
    input  wire [31:0]          s_key,
    input  wire [31:0]          s_of,      // output map of lane 0
    output wire [3*COLS*16-1:0] m_rnd      // gradient at [0 +: COLS*16], momentum, weight
);
    reg  [9:0]  valid_q;
    wire [10:0] step = {valid_q, s_on};
    reg  [31:0] k1_q;
    reg  [31:0] k2_q;
    reg  [31:0] k3_q;
    reg  [31:0] k_sum_q;
    wire [31:0] seed_mix;
    wire [31:0] k_mix;

    gc_mix32 u_mix_seed (.clk(clk), .s_step(step[2:0]), .s_x(s_seed ^ {s_tag, 16'b0}), .m_y(seed_mix));
    gc_mix32 u_mix_k    (.clk(clk), .s_step(step[6:4]), .s_x(k_sum_q), .m_y(k_mix));

    always @(posedge clk) begin
        valid_q <= {valid_q[8:0], s_valid};
        if (step[0]) k1_q <= s_key;
        if (step[1]) k2_q <= k1_q;
        if (step[2]) k3_q <= k2_q;
        if (step[3]) k_sum_q <= seed_mix + k3_q;
        if (rst) valid_q <= 10'd0;
    end

    wire [15:0] kind [0:2];
    genvar c, n;
    generate
        for (n = 0; n < 3; n = n + 1) begin : g_kind
            localparam [31:0] KIND = n;
            gc_position_axis #(.SALT(32'h7F4A7C15)) u_axis (
                .clk(clk),
                .s_step(step[7:0]),
                .s_x(KIND),
                .s_key(k_mix[31:16]),
                .m_y(kind[n])
            );
        end
        for (c = 0; c < COLS; c = c + 1) begin : g_lane
            localparam [31:0] LANE = c;
            wire [15:0] map;
            gc_position_axis #(.SALT(32'h9E3779B9 + LANE)) u_axis (
                .clk(clk),
                .s_step(step[7:0]),
                .s_x(s_of),
                .s_key(k_mix[15:0]),
                .m_y(map)
            );
            for (n = 0; n < 3; n = n + 1) begin : g_number
                reg [15:0] t_q;
                reg [15:0] u_q;
                reg [15:0] r_q;
                always @(posedge clk) begin
                    if (step[8])  t_q <= map + kind[n];
                    if (step[9])  u_q <= t_q + {t_q[10:0], 5'd0};
                    if (step[10]) r_q <= u_q ^ {8'd0, u_q[15:8]};
                end
                assign m_rnd[(n*COLS + c)*16 +: 16] = r_q;
            end
        end
    endgenerate
endmodule

`default_nettype wire
