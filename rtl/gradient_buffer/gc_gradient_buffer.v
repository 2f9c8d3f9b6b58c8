// SPDX-License-Identifier: Apache-2.0
// Exact accumulation of weight gradients in DEPTH rows of COLS words. Word k of row s_addr grows by the sum of
// s_acc[g*COLS + k] over the lane groups g = 0..GRID^2/COLS-1, or becomes that sum with s_first. Exact: a result
// beyond ACC_W bits wraps around and sets sts_overflow, which stays until s_clear. One row per cycle, free running;
// the same s_addr must not come again in the 3 following cycles. A row is read 2 cycles after s_rd_valid &&
// s_rd_ready; accumulation goes first, so s_rd_ready is low in the cycle after each s_valid without s_first. A read
// sees the rows that entered at least 5 cycles before, and any word of one that entered 4 before; sts_idle says that
// no row is on its way, sts_overflow included (a row entering in the same cycle does not count). s_scrub, while no row
// is on its way, makes row s_scrub_addr zero, for reads from 2 cycles later on.
`default_nettype none

module gc_gradient_buffer #(
    parameter GRID  = 8,    // 4 or 8
    parameter COLS  = 16,   // GRID..GRID^2, a power of two
    parameter ACC_W = 48,   // 20..48
    parameter DEPTH = 512,  // rows, a power of two, at least 16
    parameter ULTRA = 0     // 1: memories of UltraRAM (gc_ram_sdp)
) (
    input  wire                       clk,
    input  wire                       rst,
    input  wire                       s_valid,
    input  wire [$clog2(DEPTH)-1:0]   s_addr,
    input  wire                       s_first,
    input  wire [GRID*GRID*ACC_W-1:0] s_acc,      // signed
    input  wire                       s_rd_valid,
    output wire                       s_rd_ready,
    input  wire [$clog2(DEPTH)-1:0]   s_rd_addr,
    output wire                       m_rd_valid,
    output wire [COLS*ACC_W-1:0]      m_rd_data,  // signed
    input  wire                       s_scrub,
    input  wire [$clog2(DEPTH)-1:0]   s_scrub_addr,
    input  wire                       s_clear,
    output wire                       sts_overflow,
    output wire                       sts_idle
);
    localparam LANES  = GRID * GRID;
    localparam GROUPS = LANES / COLS;
    localparam ADDR_W = $clog2(DEPTH);

    generate
        if (GRID != 4 && GRID != 8) begin : g_illegal_grid
            gradcore_illegal_parameter_GRID_not_4_or_8 u_stop ();
        end
        if (COLS < GRID || COLS > LANES || (COLS & (COLS-1)) != 0) begin : g_illegal_cols
            gradcore_illegal_parameter_COLS_not_a_power_of_two_from_GRID_to_LANES u_stop ();
        end
        if (ACC_W < 20 || ACC_W > 48) begin : g_illegal_acc_w
            gradcore_illegal_parameter_ACC_W_not_20_to_48 u_stop ();
        end
        if (DEPTH < 16 || (DEPTH & (DEPTH-1)) != 0) begin : g_illegal_depth
            gradcore_illegal_parameter_DEPTH_not_a_power_of_two_from_16 u_stop ();
        end
    endgenerate

    // Bit i: a row came i cycles ago. 0 to 2 sum the groups, 1 reads, 3 adds, 4 writes back, 5 notes the overflow. A
    // scrub enters with 3.
    reg  [4:0] stage_q;
    wire [5:0] stage = {stage_q, s_valid};

    reg [4*ADDR_W-1:0] addr_q;   // of stages 4..1
    reg [2:0]          first_q;  // of stages 3..1
    reg [1:0]          read_q;
    reg                write_q;

    wire              mine    = stage[1] && !first_q[0];     // the first row of a sum needs no old one
    wire              read    = s_rd_valid && s_rd_ready;
    wire [ADDR_W-1:0] rd_addr = mine ? addr_q[ADDR_W-1:0] : s_rd_addr;

    always @(posedge clk) begin
        stage_q <= stage[4:0];
        addr_q  <= {s_scrub ? s_scrub_addr : addr_q[2*ADDR_W +: ADDR_W], addr_q[2*ADDR_W-1:0], s_addr};
        first_q <= {first_q[1:0], s_first};
        read_q  <= {read_q[0], read};
        write_q <= stage[3] || s_scrub;
        if (rst) begin
            stage_q <= 5'd0;
            read_q  <= 2'd0;
            write_q <= 1'b0;
        end
    end

    wire [COLS-1:0] overflow;

    genvar k;
    genvar g;
    generate
        for (k = 0; k < COLS; k = k + 1) begin : g_word
            wire [GROUPS*ACC_W-1:0] acc;

            for (g = 0; g < GROUPS; g = g + 1) begin : g_group
                assign acc[g*ACC_W +: ACC_W] = s_acc[(g*COLS+k)*ACC_W +: ACC_W];
            end

            gc_gradient_lane #(
                .GROUPS(GROUPS),
                .ACC_W (ACC_W),
                .DEPTH (DEPTH),
                .ULTRA (ULTRA)
            ) u_lane (
                .clk       (clk),
                .stage     (stage[3:0]),
                .add_first (first_q[2]),
                .s_acc     (acc),
                .clear     (s_scrub),
                .rd_en     (mine || read),
                .rd_addr   (rd_addr),
                .wr_en     (write_q),
                .wr_addr   (addr_q[3*ADDR_W +: ADDR_W]),
                .m_word    (m_rd_data[k*ACC_W +: ACC_W]),
                .m_overflow(overflow[k])
            );
        end
    endgenerate

    reg overflow_q;

    always @(posedge clk) begin
        if (s_clear)
            overflow_q <= 1'b0;
        if (stage[5] && |overflow)
            overflow_q <= 1'b1;
        if (rst)
            overflow_q <= 1'b0;
    end

    assign s_rd_ready   = !mine;
    assign m_rd_valid   = read_q[1];
    assign sts_overflow = overflow_q;
    assign sts_idle     = stage_q == 5'd0;
endmodule

`default_nettype wire
