// SPDX-License-Identifier: Apache-2.0
// Random numbers of one vector for stochastic rounding, drawn from the elements' places: lane (row r, column c)
// gets the number of (seed, tag, k, i of row r, j of column c). One vector per cycle, 11 cycles latency, free
// running without back-pressure; all inputs belong to the word they come with. Rows, columns and k are hashed
// once each, a lane costs two 16-bit adders. ROWS and COLS give a part of a vector: lane l is row l / COLS, column
// l % COLS of it. Bit-exact with gradcore.numerics.random_numbers.position_random.
`default_nettype none

module gc_position_random #(
    parameter GRID = 8,     // 4 or 8
    parameter ROWS = GRID,  // at most GRID
    parameter COLS = GRID
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    s_valid,
    input  wire [31:0]             s_seed,
    input  wire [15:0]             s_tag,
    input  wire [31:0]             s_k,
    input  wire [ROWS*32-1:0]      s_i,     // one per row
    input  wire [COLS*32-1:0]      s_j,     // one per column
    output wire                    m_valid,
    output wire [ROWS*COLS*16-1:0] m_rnd
);
    localparam [31:0] I_SALT = 32'h9E3779B9;
    localparam [31:0] J_SALT = 32'h7F4A7C15;

    generate
        if (GRID != 4 && GRID != 8) begin : g_illegal_grid
            gradcore_illegal_parameter_GRID_not_4_or_8 u_stop ();
        end
        if (ROWS < 1 || ROWS > GRID || COLS < 1 || COLS > GRID) begin : g_illegal_part
            gradcore_illegal_parameter_ROWS_and_COLS_not_1_to_GRID u_stop ();
        end
    endgenerate

    reg  [10:0] valid_q;            // bit i: stage i+1 holds a word
    wire [10:0] step = {valid_q[9:0], s_valid};

    // K: stages 1-3 mix the seed, 4 adds k, 5-7 mix again.
    reg  [31:0] k1_q;
    reg  [31:0] k2_q;
    reg  [31:0] k3_q;
    reg  [31:0] k_sum_q;
    wire [31:0] seed_mix;
    wire [31:0] k_mix;

    gc_mix32 u_mix_seed (.clk(clk), .s_step(step[2:0]), .s_x(s_seed ^ {s_tag, 16'b0}), .m_y(seed_mix));
    gc_mix32 u_mix_k (.clk(clk), .s_step(step[6:4]), .s_x(k_sum_q), .m_y(k_mix));

    always @(posedge clk) if (step[0]) k1_q <= s_k;
    always @(posedge clk) if (step[1]) k2_q <= k1_q;
    always @(posedge clk) if (step[2]) k3_q <= k2_q;
    always @(posedge clk) if (step[3]) k_sum_q <= seed_mix + k3_q;

    // I and J: stage 1 adds the salt, 2-4 mix, 5-7 wait for K, 8 combines.
    wire [15:0] row_q [0:ROWS-1];
    wire [15:0] col_q [0:COLS-1];

    genvar g;
    generate
        for (g = 0; g < ROWS; g = g + 1) begin : g_axis_row
            gc_position_axis #(.SALT(I_SALT)) u_row (
                .clk    (clk),
                .s_step (step[7:0]),
                .s_x    (s_i[g*32 +: 32]),
                .s_key  (k_mix[15:0]),
                .m_y    (row_q[g])
            );
        end
        for (g = 0; g < COLS; g = g + 1) begin : g_axis_col
            gc_position_axis #(.SALT(J_SALT)) u_col (
                .clk    (clk),
                .s_step (step[7:0]),
                .s_x    (s_j[g*32 +: 32]),
                .s_key  (k_mix[31:16]),
                .m_y    (col_q[g])
            );
        end
    endgenerate

    genvar r, c;
    generate
        for (r = 0; r < ROWS; r = r + 1) begin : g_row
            for (c = 0; c < COLS; c = c + 1) begin : g_col
                reg [15:0] t_q;
                reg [15:0] u_q;
                reg [15:0] rnd_q;

                always @(posedge clk) if (step[8]) t_q <= row_q[r] + col_q[c];
                always @(posedge clk) if (step[9]) u_q <= t_q + {t_q[10:0], 5'b0};
                always @(posedge clk) if (step[10]) rnd_q <= u_q ^ {8'b0, u_q[15:8]};

                assign m_rnd[(r*COLS+c)*16 +: 16] = rnd_q;
            end
        end
    endgenerate

    assign m_valid = valid_q[10];

    always @(posedge clk) begin
        valid_q <= step;
        if (rst) valid_q <= 11'b0;
    end
endmodule

`default_nettype wire
