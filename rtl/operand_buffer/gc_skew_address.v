// SPDX-License-Identifier: Apache-2.0
// Bank addresses of one access to a skewed buffer (doc/architecture.md, "Accesses"). The address of a lane is a row
// part plus a column part, so GRID + GRID small sums are formed, the two tables are rotated to bank order and added
// bank by bank. One access per cycle; rotations and masks 1 cycle, bank addresses 4 cycles after the access. Bit-exact
// with gradcore.machine.skew. No multiplier: a displacement in blocks is a 9-bit signed factor and is applied by shift
// and add.
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
    output reg                             m_valid,      // of rotations and masks
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
    localparam LOW_BITS = GRID - 1;
    localparam [2:0] LOW = LOW_BITS[2:0];

    wire [2:0] pixel = 3'b111 >> (2'd3 - s_fold_a);       // mask of the pixel bits of a lane number
    wire [5:0] step  = {{(6-$clog2(COLS)){1'b0}}, s_step};
    wire [2:0] lane_col = step[2:0] & LOW;                // channel access: the pixel's lane column
    wire [5:0] lane_row = step >> LOG;                    // and its first lane row
    wire [15:0] left = s_channels > s_chan ? s_channels - s_chan : 16'd0;   // channels from this one on
    wire [5:0] rot_y = s_y0[5:0] + s_dy[5:0] + {3'd0, s_rot_y} + s_chan[LOG +: 6] + (s_channel ? lane_row : 6'd0);
    wire [5:0] rot_x = s_x0[5:0] + s_dx[5:0] + {3'd0, s_rot_x} + {3'd0, s_chan[2:0] & LOW}
        + (s_channel ? {3'd0, lane_col} : 6'd0);

    reg          channel_q;
    reg          split_q;
    reg [AW-1:0] addr_q;
    reg [AW-1:0] stride_y_q;
    reg [AW-1:0] stride_x_q;
    reg          sum_valid_q;
    reg          turn_valid_q;
    reg [LOG-1:0] rot_y_q;
    reg [LOG-1:0] rot_x_q;

    always @(posedge clk) begin
        m_valid      <= s_valid;
        sum_valid_q  <= m_valid;
        turn_valid_q <= sum_valid_q;
        if (s_valid) begin
            m_rot_y    <= rot_y[LOG-1:0];
            m_rot_x    <= rot_x[LOG-1:0];
            channel_q  <= s_channel;
            split_q    <= s_split;
            addr_q     <= s_addr;
            stride_y_q <= s_stride_y;
            stride_x_q <= s_stride_x;
        end
        if (m_valid) begin
            rot_y_q <= m_rot_y;
            rot_x_q <= m_rot_x;
        end
    end

    wire [AW-1:0] row_part [0:GRID-1];
    wire [AW-1:0] col_part [0:GRID-1];
    wire [AW-1:0] bank_row [0:GRID-1];
    wire [AW-1:0] bank_col [0:GRID-1];

    genvar i, j;
    generate
        for (i = 0; i < COLS; i = i + 1) begin : g_channel
            localparam [15:0] OFFSET = i;
            always @(posedge clk) if (s_valid) m_chan_mask[i] <= !s_channel || (left > OFFSET);
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

            wire [2:0]         ly    = (s_channel ? lane_row[2:0] + GROUP_ROW : s_split ? SPLIT_I : I) & pixel;
            wire [2:0]         lx    = (s_channel ? lane_col : I) & pixel;
            wire [8:0]         move_y = {s_dy[7], s_dy} + {6'd0, ly};
            wire [8:0]         move_x = {s_dx[7], s_dx} + {6'd0, lx};
            wire [8:0]         off_y  = $unsigned($signed(move_y) >>> s_fold_s);
            wire [8:0]         off_x  = $unsigned($signed(move_x) >>> s_fold_s);
            wire [13:0]        y      = {2'b00, s_y0} + {{5{move_y[8]}}, move_y};
            wire [13:0]        x      = {2'b00, s_x0} + {{5{move_x[8]}}, move_x};
            reg  [8:0]         off_y_q;
            reg  [8:0]         off_x_q;
            reg  [AW-1:0]      row_q;
            reg  [AW-1:0]      col_q;
            reg  [AW-1:0]      turned_row_q;
            reg  [AW-1:0]      turned_col_q;
            wire [LOG-1:0]     row_source = BANK - rot_y_q;
            wire [LOG-1:0]     col_source = BANK - rot_x_q;

            always @(posedge clk) if (s_valid) begin
                off_y_q       <= off_y;
                off_x_q       <= off_x;
                m_row_mask[i] <= !y[13] && (y < {2'b00, s_height});
                m_col_mask[i] <= !x[13] && (x < {2'b00, s_width});
            end
            always @(posedge clk) if (m_valid) begin
                row_q <= scaled(off_y_q, stride_y_q) + (channel_q ? ROW_CHAN : split_q ? SPLIT_C : {AW{1'b0}}) + addr_q;
                col_q <= scaled(off_x_q, stride_x_q) + (channel_q ? COL_CHAN : {AW{1'b0}});
            end
            always @(posedge clk) if (sum_valid_q) begin
                turned_row_q <= row_part[row_source];
                turned_col_q <= col_part[col_source];
            end
            assign row_part[i] = row_q;
            assign col_part[i] = col_q;
            assign bank_row[i] = turned_row_q;
            assign bank_col[i] = turned_col_q;
        end
        for (i = 0; i < GRID; i = i + 1) begin : g_bank_row
            for (j = 0; j < GRID; j = j + 1) begin : g_bank_col
                reg [AW-1:0] addr_sum_q;
                always @(posedge clk) if (turn_valid_q) addr_sum_q <= bank_row[i] + bank_col[j];
                assign m_bank_addr[(GRID*i + j)*AW +: AW] = addr_sum_q;
            end
        end
    endgenerate

    // factor (signed) times stride, modulo 2^AW; up[8-k +: AW] is stride << k, for k beyond AW, too
    function [AW-1:0] scaled(input [8:0] factor, input [AW-1:0] stride);
        reg [AW+7:0] up;
        begin
            up     = {stride, 8'd0};
            scaled = (((factor[0] ? up[8 +: AW] : {AW{1'b0}}) + (factor[1] ? up[7 +: AW] : {AW{1'b0}}))
                   +  ((factor[2] ? up[6 +: AW] : {AW{1'b0}}) + (factor[3] ? up[5 +: AW] : {AW{1'b0}})))
                   + (((factor[4] ? up[4 +: AW] : {AW{1'b0}}) + (factor[5] ? up[3 +: AW] : {AW{1'b0}}))
                   +  ((factor[6] ? up[2 +: AW] : {AW{1'b0}}) + (factor[7] ? up[1 +: AW] : {AW{1'b0}})))
                   -   (factor[8] ? up[0 +: AW] : {AW{1'b0}});
        end
    endfunction

    wire _unused = &{1'b0, rot_y, rot_x, lane_row, s_dy, s_dx};
endmodule

`default_nettype wire
