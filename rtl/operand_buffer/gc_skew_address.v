// SPDX-License-Identifier: Apache-2.0
// Bank addresses of one access to a skewed buffer (doc/architecture.md, "Accesses"). The address of a lane is a row
// part plus a column part, so GRID + GRID small sums are formed, the two tables are rotated to bank order and added
// bank by bank. One access per cycle; rotations 1 cycle, row and column masks 2 cycles, the channel mask 3 cycles after
// the access; bank addresses 3 cycles after it, behind an adder: the next register is a memory's. Bit-exact with
// gradcore.machine.skew.
// No multiplier: a lane's displacement in blocks is that of lane 0, 8 bits signed, and 0..7 blocks more. The multiples
// of a stride by 0..7 are made once. Each lane takes one; lane 0's product takes one for each three bits of its factor
// and is added behind the rotation.
`default_nettype none

module gc_skew_address #(
    parameter GRID      = 8,
    parameter AW        = 11,
    parameter CHANNEL_R = 2     // lane rows per pixel of a channel access
) (
    input  wire                            clk,
    input  wire                            s_valid,
    input  wire [AW-1:0]                   s_addr,
    input  wire [11:0]                     s_y0,
    input  wire [11:0]                     s_x0,
    input  wire [7:0]                      s_dy,         // signed
    input  wire [7:0]                      s_dx,         // signed
    input  wire [15:0]                     s_chan,
    input  wire [1:0]                      s_fold_a,
    input  wire [1:0]                      s_fold_s,
    input  wire [AW-1:0]                   s_stride_y,
    input  wire [AW-1:0]                   s_stride_x,
    input  wire [2:0]                      s_rot_y,
    input  wire [2:0]                      s_rot_x,
    input  wire [11:0]                     s_height,
    input  wire [11:0]                     s_width,
    input  wire                            s_channel,
    // pixel access: group g of COLS lanes has the pixels of the first, COLS*g channels on
    input  wire                            s_split,
    input  wire [$clog2(GRID*CHANNEL_R)-1:0] s_step,
    input  wire [15:0]                     s_channels,
    output reg                             m_valid,      // of rotations
    output reg  [$clog2(GRID)-1:0]         m_rot_y,
    output reg  [$clog2(GRID)-1:0]         m_rot_x,
    output reg  [GRID-1:0]                 m_row_mask,
    output reg  [GRID-1:0]                 m_col_mask,
    // channel lane / COLS repeats: lane l uses bit l % (GRID*CHANNEL_R)
    output reg  [GRID*CHANNEL_R-1:0]       m_chan_mask,
    output wire [GRID*GRID*AW-1:0]         m_bank_addr
);
    localparam LOG  = $clog2(GRID);
    localparam COLS = GRID*CHANNEL_R;
    localparam COLS_LOG = $clog2(COLS);
    localparam LOW_BITS = GRID - 1;
    localparam [2:0] LOW = LOW_BITS[2:0];
    localparam [31:0] EIGHT = 8, SIXTY_FOUR = 64;

    wire [5:0] step  = {{(6-$clog2(COLS)){1'b0}}, s_step};
    wire [2:0] lane_col = step[2:0] & LOW;                // channel access: the pixel's lane column
    wire [5:0] lane_row = step >> LOG;                    // and its first lane row
    wire [16:0] left = {1'b0, s_channels} - {1'b0, s_chan};                 // channels from this one on, if any
    wire [5:0] rot_y = s_y0[5:0] + s_dy[5:0] + {3'd0, s_rot_y} + s_chan[LOG +: 6] + (s_channel ? lane_row : 6'd0);
    wire [5:0] rot_x = s_x0[5:0] + s_dx[5:0] + {3'd0, s_rot_x} + {3'd0, s_chan[2:0] & LOW}
        + (s_channel ? {3'd0, lane_col} : 6'd0);

    wire [7:0]    shift_y = $unsigned($signed(s_dy) >>> s_fold_s);     // displacement of lane 0, in blocks
    wire [7:0]    shift_x = $unsigned($signed(s_dx) >>> s_fold_s);

    reg            channel_q;
    reg [16:0]     left_q;
    reg            all_q;        // lanes' channels exist; else the first few_q
    reg [COLS_LOG-1:0] few_q;
    reg            split_q;
    reg [AW-1:0]   addr_q;
    reg [7:0]      shift_y_q;
    reg [7:0]      shift_x_q;
    wire [8*AW-1:0] times_y;     // of the strides, by 0..7
    wire [8*AW-1:0] times_x;
    wire [AW-1:0]  minus_y;
    wire [AW-1:0]  minus_x;
    reg [AW-1:0]   start_y_q;    // lane 0's products
    reg [AW-1:0]   start_x_q;
    reg            sum_valid_q;

    gc_multiples #(.W(AW)) u_y (
        .clk(clk), .s_valid(s_valid), .s_value(s_stride_y), .m_times(times_y), .m_minus(minus_y)
    );
    gc_multiples #(.W(AW)) u_x (
        .clk(clk), .s_valid(s_valid), .s_value(s_stride_x), .m_times(times_x), .m_minus(minus_x)
    );

    wire [3*GRID-1:0] line_y, line_x;       // lines of the lanes, without those of the fold
    wire [3*GRID-1:0] pixel_y, pixel_x;
    wire [3*GRID-1:0] more_y, more_x;       // blocks from lane 0's
    wire [GRID-1:0]   row_mask, col_mask;
    gc_skew_lines #(.GRID(GRID)) u_lines_y (
        .clk(clk), .s_valid(s_valid), .s_line(line_y), .s_d(s_dy[2:0]), .s_fold_a(s_fold_a), .s_fold_s(s_fold_s),
        .m_line(pixel_y), .m_blocks(more_y)
    );
    gc_skew_lines #(.GRID(GRID)) u_lines_x (
        .clk(clk), .s_valid(s_valid), .s_line(line_x), .s_d(s_dx[2:0]), .s_fold_a(s_fold_a), .s_fold_s(s_fold_s),
        .m_line(pixel_x), .m_blocks(more_x)
    );
    gc_skew_inside #(.GRID(GRID)) u_inside_y (
        .clk(clk), .s_valid(s_valid), .s_start(s_y0), .s_d(s_dy), .s_end(s_height), .s_line(pixel_y),
        .m_inside(row_mask)
    );
    gc_skew_inside #(.GRID(GRID)) u_inside_x (
        .clk(clk), .s_valid(s_valid), .s_start(s_x0), .s_d(s_dx), .s_end(s_width), .s_line(pixel_x),
        .m_inside(col_mask)
    );

    always @(posedge clk) begin
        m_valid     <= s_valid;
        sum_valid_q <= m_valid;
        if (s_valid) begin
            m_rot_y   <= rot_y[LOG-1:0];
            m_rot_x   <= rot_x[LOG-1:0];
            channel_q <= s_channel;
            left_q    <= left;
            split_q   <= s_split;
            addr_q    <= s_addr;
            shift_y_q <= shift_y;
            shift_x_q <= shift_x;
        end
        if (m_valid) begin
            all_q     <= !channel_q || (!left_q[16] && |left_q[15:COLS_LOG]);
            few_q     <= left_q[COLS_LOG-1:0] & {COLS_LOG{!left_q[16]}};
            m_row_mask <= row_mask;
            m_col_mask <= col_mask;
            start_y_q <= product(shift_y_q, times_y, minus_y);
            start_x_q <= product(shift_x_q, times_x, minus_x);
        end
    end

    wire [AW-1:0] row_part [0:GRID-1];
    wire [AW-1:0] col_part [0:GRID-1];
    wire [AW-1:0] bank_row [0:GRID-1];
    wire [AW-1:0] bank_col [0:GRID-1];

    genvar i, j;
    generate
        for (i = 0; i < COLS; i = i + 1) begin : g_channel
            localparam [COLS_LOG:0] COUNT = i + 1;
            always @(posedge clk) if (sum_valid_q) m_chan_mask[i] <= all_q || {1'b0, few_q} >= COUNT;
        end
        for (i = 0; i < GRID; i = i + 1) begin : g_line
            localparam [2:0]     I         = i;
            localparam SPLIT_ROW  = i % CHANNEL_R;
            localparam SPLIT_CHAN = COLS * (i / CHANNEL_R);
            localparam [2:0]     SPLIT_I   = SPLIT_ROW[2:0];
            localparam [AW-1:0]  SPLIT_C   = SPLIT_CHAN[AW-1:0];
            localparam FIRST_ROW  = (i / CHANNEL_R) * CHANNEL_R;
            localparam FIRST_CHAN = GRID * (i % CHANNEL_R);
            localparam [2:0]     GROUP_ROW = FIRST_ROW[2:0];
            localparam [AW-1:0]  ROW_CHAN  = FIRST_CHAN[AW-1:0];
            localparam [AW-1:0]  COL_CHAN  = i;
            localparam [LOG-1:0] BANK      = i;

            assign line_y[3*i +: 3] = s_channel ? lane_row[2:0] + GROUP_ROW : s_split ? SPLIT_I : I;
            assign line_x[3*i +: 3] = s_channel ? lane_col : I;

            reg  [AW-1:0]      row_q;
            reg  [AW-1:0]      col_q;
            reg  [AW-1:0]      turned_row_q;
            reg  [AW-1:0]      turned_col_q;
            reg  [LOG-1:0]     row_source_q;
            reg  [LOG-1:0]     col_source_q;

            always @(posedge clk) if (m_valid) begin
                row_q <= times_y[more_y[3*i +: 3]*AW +: AW] + addr_q
                    + (channel_q ? ROW_CHAN : split_q ? SPLIT_C : {AW{1'b0}});
                col_q <= times_x[more_x[3*i +: 3]*AW +: AW] + (channel_q ? COL_CHAN : {AW{1'b0}});
                row_source_q <= BANK - m_rot_y;
                col_source_q <= BANK - m_rot_x;
            end
            always @(posedge clk) if (sum_valid_q) begin
                turned_row_q <= row_part[row_source_q] + start_y_q;
                turned_col_q <= col_part[col_source_q] + start_x_q;
            end
            assign row_part[i] = row_q;
            assign col_part[i] = col_q;
            assign bank_row[i] = turned_row_q;
            assign bank_col[i] = turned_col_q;
        end
        for (i = 0; i < GRID; i = i + 1) begin : g_bank_row
            for (j = 0; j < GRID; j = j + 1) begin : g_bank_col
                assign m_bank_addr[(GRID*i + j)*AW +: AW] = bank_row[i] + bank_col[j];
            end
        end
    endgenerate

    // factor (signed) times the stride, modulo 2^AW: three of its multiples
    function [AW-1:0] product(input [7:0] factor, input [8*AW-1:0] times, input [AW-1:0] minus);
        reg [AW-1:0] high;
        begin
            case (factor[7:6])
                2'd0:    high = times[0 +: AW];
                2'd1:    high = times[AW +: AW];
                2'd2:    high = minus << 1;
                default: high = minus;
            endcase
            product = times[factor[2:0]*AW +: AW] + times[factor[5:3]*AW +: AW] * EIGHT[AW-1:0]
                    + high * SIXTY_FOUR[AW-1:0];
        end
    endfunction

    wire _unused = &{1'b0, rot_y, rot_x, lane_row, s_dy, s_dx};
endmodule

`default_nettype wire
