// SPDX-License-Identifier: Apache-2.0
// Bank addresses of one access to a skewed buffer (doc/architecture.md, "Accesses"). The address of a lane is a row
// part plus a column part, so GRID + GRID small sums are formed, the two tables are rotated to bank order and added
// bank by bank. One access per cycle; rotations 1 cycle, row and column masks 2 cycles, the channel mask 3 cycles, bank
// addresses 4 cycles after the access. Bit-exact with gradcore.machine.skew.
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

    wire [2:0] pixel = LOW & (3'b111 >> (2'd3 - s_fold_a));  // mask of the pixel bits of a lane number
    wire [5:0] step  = {{(6-$clog2(COLS)){1'b0}}, s_step};
    wire [2:0] lane_col = step[2:0] & LOW;                // channel access: the pixel's lane column
    wire [5:0] lane_row = step >> LOG;                    // and its first lane row
    wire [16:0] left = {1'b0, s_channels} - {1'b0, s_chan};                 // channels from this one on, if any
    wire [5:0] rot_y = s_y0[5:0] + s_dy[5:0] + {3'd0, s_rot_y} + s_chan[LOG +: 6] + (s_channel ? lane_row : 6'd0);
    wire [5:0] rot_x = s_x0[5:0] + s_dx[5:0] + {3'd0, s_rot_x} + {3'd0, s_chan[2:0] & LOW}
        + (s_channel ? {3'd0, lane_col} : 6'd0);

    // The line of lane 0, and how far it is behind the last line of the map; signed.
    reg [13:0]    first_y_q;
    reg [13:0]    first_x_q;
    reg [13:0]    past_y_q;
    reg [13:0]    past_x_q;

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
    reg            turn_valid_q;

    gc_multiples #(.W(AW)) u_y (
        .clk(clk), .s_valid(s_valid), .s_value(s_stride_y), .m_times(times_y), .m_minus(minus_y)
    );
    gc_multiples #(.W(AW)) u_x (
        .clk(clk), .s_valid(s_valid), .s_value(s_stride_x), .m_times(times_x), .m_minus(minus_x)
    );

    always @(posedge clk) begin
        m_valid      <= s_valid;
        sum_valid_q  <= m_valid;
        turn_valid_q <= sum_valid_q;
        if (s_valid) begin
            m_rot_y   <= rot_y[LOG-1:0];
            m_rot_x   <= rot_x[LOG-1:0];
            first_y_q <= {2'b00, s_y0} + {{6{s_dy[7]}}, s_dy};
            first_x_q <= {2'b00, s_x0} + {{6{s_dx[7]}}, s_dx};
            past_y_q  <= {2'b00, s_y0} + {{6{s_dy[7]}}, s_dy} - {2'b00, s_height};
            past_x_q  <= {2'b00, s_x0} + {{6{s_dx[7]}}, s_dx} - {2'b00, s_width};
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

            wire [2:0]         ly    = (s_channel ? lane_row[2:0] + GROUP_ROW : s_split ? SPLIT_I : I) & pixel;
            wire [2:0]         lx    = (s_channel ? lane_col : I) & pixel;
            reg  [2:0]         ly_q;
            reg  [2:0]         lx_q;
            reg  [2:0]         more_y_q;
            reg  [2:0]         more_x_q;
            reg  [AW-1:0]      row_q;
            reg  [AW-1:0]      col_q;
            reg  [AW-1:0]      turned_row_q;
            reg  [AW-1:0]      turned_col_q;
            reg  [LOG-1:0]     row_source_q;
            reg  [LOG-1:0]     col_source_q;

            always @(posedge clk) if (s_valid) begin
                more_y_q      <= blocks(s_dy[2:0], ly, s_fold_s);
                more_x_q      <= blocks(s_dx[2:0], lx, s_fold_s);
                ly_q          <= ly;
                lx_q          <= lx;
            end
            always @(posedge clk) if (m_valid) begin
                m_row_mask[i] <= in_map(first_y_q, past_y_q, ly_q);
                m_col_mask[i] <= in_map(first_x_q, past_x_q, lx_q);
                row_q <= times_y[more_y_q*AW +: AW] + (channel_q ? ROW_CHAN : split_q ? SPLIT_C : {AW{1'b0}}) + addr_q;
                col_q <= times_x[more_x_q*AW +: AW] + (channel_q ? COL_CHAN : {AW{1'b0}});
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
                reg [AW-1:0] addr_sum_q;
                always @(posedge clk) if (turn_valid_q) addr_sum_q <= bank_row[i] + bank_col[j];
                assign m_bank_addr[(GRID*i + j)*AW +: AW] = addr_sum_q;
            end
        end
    endgenerate

    // Line l from lane 0's is in the map: l is added to both, and only -8 to -1 can change their sign by it.
    function in_map(input [13:0] first, input [13:0] past, input [2:0] l);
        in_map = (!first[13] || (&first[12:3] && reaches(first[2:0], l)))
              && past[13] && !(&past[12:3] && reaches(past[2:0], l));
    endfunction

    function reaches(input [2:0] a, input [2:0] b);    // a + b is 8 or more
        reaches = (a[2] & b[2]) | ((a[2] | b[2]) & ((a[1] & b[1]) | ((a[1] | b[1]) & a[0] & b[0])));
    endfunction

    // blocks of 2^fold lines from that of lane 0 to that of lane l, 0..7: ((d modulo 2^fold) + l) >> fold. By its
    // carries, as an adder between two choices is the slower way.
    function [2:0] blocks(input [2:0] d, input [2:0] l, input [1:0] fold);
        reg c0, c1, c2;
        begin
            c0 = d[0] & l[0];
            c1 = (d[1] & l[1]) | (c0 & (d[1] | l[1]));
            c2 = (d[2] & l[2]) | (c1 & (d[2] | l[2]));
            case (fold)
                2'd0:    blocks = l;
                2'd1:    blocks = {l[2] & l[1] & c0, l[2] ^ (l[1] & c0), l[1] ^ c0};
                2'd2:    blocks = {1'b0, l[2] & c1, l[2] ^ c1};
                default: blocks = {2'b00, c2};
            endcase
        end
    endfunction

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
