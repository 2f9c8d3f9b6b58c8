// SPDX-License-Identifier: Apache-2.0
// The transposable operand buffer: GRID x GRID banks with two-dimensional skew (doc/architecture.md, "The bank
// function"), read by pixel or by channel and written by pixel at full bandwidth. One read and one write per cycle,
// free running. A read gives its vector 7 cycles later, masked lanes as zero; a write is seen by reads that enter at
// least one cycle after it, and one that enters with it may give any word. Bit-exact with gradcore.machine.skew.
// Generalises the transposable weight buffer of Venkataramanaiah et al. (FPL 2019, section III.D) to maps.
`default_nettype none

module gc_operand_buffer #(
    parameter GRID      = 8,      // 4 or 8
    parameter DW        = 16,     // bits of a word, 1..32
    parameter DEPTH     = 2048,   // vectors, power of two
    parameter USER_W    = 1,      // bits that travel beside a read
    parameter CHANNEL_R = 2,      // COLS/GRID: lane rows per pixel of a channel access
    parameter ULTRA     = 0       // 1: banks of UltraRAM (gc_ram_sdp)
) (
    input  wire                              clk,
    input  wire                              rst,
    input  wire                              s_wr_valid,
    input  wire [$clog2(DEPTH)-1:0]          s_wr_addr,
    input  wire [11:0]                       s_wr_y0,
    input  wire [11:0]                       s_wr_x0,
    input  wire [7:0]                        s_wr_dy,
    input  wire [7:0]                        s_wr_dx,
    input  wire [15:0]                       s_wr_chan,
    input  wire [$clog2(DEPTH)-1:0]          s_wr_stride_y,
    input  wire [$clog2(DEPTH)-1:0]          s_wr_stride_x,
    input  wire [1:0]                        s_wr_fold_a,
    input  wire [1:0]                        s_wr_fold_s,
    input  wire [2:0]                        s_wr_rot_y,
    input  wire [2:0]                        s_wr_rot_x,
    input  wire [11:0]                       s_wr_height,
    input  wire [11:0]                       s_wr_width,
    input  wire [GRID*GRID-1:0]              s_wr_enable,
    input  wire [GRID*GRID*DW-1:0]           s_wr_data,
    input  wire                              s_rd_valid,
    input  wire [$clog2(DEPTH)-1:0]          s_rd_addr,
    input  wire [11:0]                       s_rd_y0,
    input  wire [11:0]                       s_rd_x0,
    input  wire [7:0]                        s_rd_dy,
    input  wire [7:0]                        s_rd_dx,
    input  wire [15:0]                       s_rd_chan,
    input  wire [$clog2(DEPTH)-1:0]          s_rd_stride_y,
    input  wire [$clog2(DEPTH)-1:0]          s_rd_stride_x,
    input  wire [1:0]                        s_rd_fold_a,
    input  wire [1:0]                        s_rd_fold_s,
    input  wire [2:0]                        s_rd_rot_y,
    input  wire [2:0]                        s_rd_rot_x,
    input  wire [11:0]                       s_rd_height,
    input  wire [11:0]                       s_rd_width,
    input  wire                              s_rd_channel,   // channel access
    // pixel access: group g of lanes takes the pixels of the first, COLS*g channels on
    input  wire                              s_rd_split,
    input  wire [$clog2(GRID*CHANNEL_R)-1:0] s_rd_step,      // its sub-step
    input  wire [15:0]                       s_rd_channels,  // lanes of channels beyond it read as zero
    input  wire [USER_W-1:0]                 s_rd_user,
    output wire                              m_rd_valid,
    output wire [USER_W-1:0]                 m_rd_user,
    output wire [GRID*GRID*DW-1:0]           m_rd_data
);
    localparam LANES = GRID*GRID;
    localparam COLS  = GRID*CHANNEL_R;
    localparam LOG   = $clog2(GRID);
    localparam AW    = $clog2(DEPTH);

    generate
        if (GRID != 4 && GRID != 8) begin : g_illegal_grid
            gradcore_illegal_parameter_GRID_must_be_4_or_8 u_stop ();
        end
        if (CHANNEL_R < 1 || CHANNEL_R > GRID || (CHANNEL_R & (CHANNEL_R-1)) != 0) begin : g_illegal_channel_r
            gradcore_illegal_parameter_CHANNEL_R_must_be_a_power_of_two_up_to_GRID u_stop ();
        end
        if (DEPTH < 64 || DEPTH > 1048576 || (DEPTH & (DEPTH-1)) != 0) begin : g_illegal_depth
            gradcore_illegal_parameter_DEPTH_must_be_a_power_of_two_from_64_to_1048576 u_stop ();
        end
        if (DW < 1 || DW > 32) begin : g_illegal_dw
            gradcore_illegal_parameter_DW_must_be_1_to_32 u_stop ();
        end
    endgenerate

    // ---- Write: lanes go to their banks while the addresses are formed
    wire                wr_valid;
    wire [LOG-1:0]      wr_rot_y;
    wire [LOG-1:0]      wr_rot_x;
    wire [GRID-1:0]     wr_row_mask;
    wire [GRID-1:0]     wr_col_mask;
    wire [LANES*AW-1:0] wr_bank_addr;
    reg  [LANES*DW-1:0] wr_data_q;
    reg  [LANES-1:0]    wr_enable_q;
    wire [LANES*(DW+1)-1:0] wr_lanes;
    wire [LANES*(DW+1)-1:0] wr_banks;
    reg  [2:0]          wr_valid_q;
    wire [2*LOG-1:0]    wr_turn;              // rotations, when the masks are there
    wire [GRID-1:0]     wr_row_turned, wr_col_turned;
    reg  [GRID-1:0]     wr_row_mask_q, wr_col_mask_q;    // in the order of the banks, with their words

    wire [GRID-1:0] wr_address_m_chan_mask_unused;
    gc_skew_address #(.GRID(GRID), .AW(AW), .CHANNEL_R(1)) u_wr_address (
        .clk(clk),
        .s_valid(s_wr_valid), .s_addr(s_wr_addr),
        .s_y0(s_wr_y0),
        .s_x0(s_wr_x0),
        .s_dy(s_wr_dy),
        .s_dx(s_wr_dx),
        .s_chan(s_wr_chan),
        .s_fold_a(s_wr_fold_a), .s_fold_s(s_wr_fold_s),
        .s_stride_y(s_wr_stride_y), .s_stride_x(s_wr_stride_x),
        .s_rot_y(s_wr_rot_y), .s_rot_x(s_wr_rot_x),
        .s_height(s_wr_height),
        .s_width(s_wr_width),
        .s_channel(1'b0),
        .s_split(1'b0),
        .s_step({LOG{1'b0}}),
        .s_channels(16'd0),
        .m_valid(wr_valid),
        .m_rot_y(wr_rot_y), .m_rot_x(wr_rot_x),
        .m_row_mask(wr_row_mask),
        .m_col_mask(wr_col_mask),
        .m_chan_mask(wr_address_m_chan_mask_unused),
        .m_bank_addr(wr_bank_addr)
    );
    always @(posedge clk) begin
        if (s_wr_valid) begin
            wr_data_q   <= s_wr_data;
            wr_enable_q <= s_wr_enable;
        end
        wr_valid_q <= {wr_valid_q[1:0], s_wr_valid};
        if (rst) wr_valid_q <= 3'd0;
    end
    gc_delay_line #(.W(2*LOG), .CYCLES(1)) u_wr_turn (
        .clk(clk), .clear(1'b0), .s_data({wr_rot_y, wr_rot_x}), .m_data(wr_turn)
    );
    gc_word_rotate #(.N(GRID), .W(1)) u_wr_rows (
        .s_rot(-wr_turn[LOG +: LOG]), .s_data(wr_row_mask), .m_data(wr_row_turned)
    );
    gc_word_rotate #(.N(GRID), .W(1)) u_wr_cols (
        .s_rot(-wr_turn[0 +: LOG]), .s_data(wr_col_mask), .m_data(wr_col_turned)
    );
    always @(posedge clk) if (wr_valid_q[1]) begin
        wr_row_mask_q <= wr_row_turned;
        wr_col_mask_q <= wr_col_turned;
    end
    gc_rotator2d #(.GRID(GRID), .W(DW+1), .INVERSE(1)) u_wr_rotator (
        .clk(clk), .s_valid(wr_valid), .s_rot_y(wr_rot_y), .s_rot_x(wr_rot_x), .s_data(wr_lanes),
        .s_keep({LANES{1'b1}}), .m_data(wr_banks)
    );

    // ---- Read
    // Stages of a read: rotations, masks, that of the channels and the banks' addresses, the banks' words, the vector.
    localparam TURN = 1, MASKS = 2, CHANNEL = 3, WORDS = 5, VECTOR = 7;
    wire                rd_valid;
    wire [LOG-1:0]      rd_rot_y;
    wire [LOG-1:0]      rd_rot_x;
    wire [GRID-1:0]     rd_row_mask;
    wire [GRID-1:0]     rd_col_mask;
    wire [COLS-1:0]     rd_chan_mask;
    wire [LANES*AW-1:0] rd_bank_addr;
    wire [LANES*DW-1:0] rd_banks;
    wire [LANES-1:0]    keep;                 // words inside the map
    reg  [VECTOR-1:0]   rd_valid_q;           // bit n: in stage n + 1
    wire [LOG-1:0]      turn_y;
    wire [LOG-1:0]      turn_x;
    wire [GRID-1:0]     row_mask;
    wire [GRID-1:0]     col_mask;
    wire [COLS-1:0]     chan_mask;

    gc_skew_address #(.GRID(GRID), .AW(AW), .CHANNEL_R(CHANNEL_R)) u_rd_address (
        .clk(clk),
        .s_valid(s_rd_valid), .s_addr(s_rd_addr),
        .s_y0(s_rd_y0),
        .s_x0(s_rd_x0),
        .s_dy(s_rd_dy),
        .s_dx(s_rd_dx),
        .s_chan(s_rd_chan),
        .s_fold_a(s_rd_fold_a), .s_fold_s(s_rd_fold_s),
        .s_stride_y(s_rd_stride_y), .s_stride_x(s_rd_stride_x),
        .s_rot_y(s_rd_rot_y), .s_rot_x(s_rd_rot_x),
        .s_height(s_rd_height),
        .s_width(s_rd_width),
        .s_channel(s_rd_channel),
        .s_split(s_rd_split),
        .s_step(s_rd_step),
        .s_channels(s_rd_channels),
        .m_valid(rd_valid),
        .m_rot_y(rd_rot_y), .m_rot_x(rd_rot_x),
        .m_row_mask(rd_row_mask),
        .m_col_mask(rd_col_mask),
        .m_chan_mask(rd_chan_mask),
        .m_bank_addr(rd_bank_addr)
    );

    gc_delay_line #(.W(2*LOG), .CYCLES(WORDS-TURN)) u_turn (
        .clk(clk), .clear(1'b0), .s_data({rd_rot_y, rd_rot_x}), .m_data({turn_y, turn_x})
    );
    gc_delay_line #(.W(2*GRID), .CYCLES(VECTOR-MASKS-1)) u_mask (
        .clk(clk), .clear(1'b0), .s_data({rd_row_mask, rd_col_mask}), .m_data({row_mask, col_mask})
    );
    gc_delay_line #(.W(COLS), .CYCLES(VECTOR-CHANNEL-1)) u_chan_mask (
        .clk(clk), .clear(1'b0), .s_data(rd_chan_mask), .m_data(chan_mask)
    );
    gc_delay_line #(.W(USER_W), .CYCLES(VECTOR)) u_user (
        .clk(clk), .clear(1'b0), .s_data(s_rd_user), .m_data(m_rd_user)
    );
    always @(posedge clk) begin
        rd_valid_q <= {rd_valid_q[VECTOR-2:0], s_rd_valid};
        if (rst) rd_valid_q <= {VECTOR{1'b0}};
    end
    gc_rotator2d #(.GRID(GRID), .W(DW), .MASK(1)) u_rd_rotator (
        .clk(clk), .s_valid(rd_valid_q[WORDS-1]), .s_rot_y(turn_y), .s_rot_x(turn_x),
        .s_data(rd_banks), .s_keep(keep), .m_data(m_rd_data)
    );

    genvar i;
    generate
        for (i = 0; i < LANES; i = i + 1) begin : g_lane
            wire         enable = wr_banks[i*(DW+1) + DW] && wr_row_mask_q[i / GRID] && wr_col_mask_q[i % GRID];
            assign wr_lanes[i*(DW+1) +: DW+1] = {wr_enable_q[i], wr_data_q[i*DW +: DW]};

            gc_ram_sdp #(.WIDTH(DW), .DEPTH(DEPTH), .OUT_REG(1), .OLD_WORD(0), .ULTRA(ULTRA)) u_bank (
                .clk(clk),
                .s_wr_en(wr_valid_q[2] && enable), .s_wr_addr(wr_bank_addr[i*AW +: AW]),
                .s_wr_data(wr_banks[i*(DW+1) +: DW]),
                .s_rd_en(rd_valid_q[CHANNEL-1]), .s_rd_addr(rd_bank_addr[i*AW +: AW]),
                .m_rd_data(rd_banks[i*DW +: DW])
            );
            assign keep[i] = row_mask[i / GRID] && col_mask[i % GRID] && chan_mask[i % COLS];
        end
    endgenerate
    assign m_rd_valid = rd_valid_q[VECTOR-1];

    wire _unused = &{1'b0, wr_address_m_chan_mask_unused, rd_valid};
endmodule

`default_nettype wire
