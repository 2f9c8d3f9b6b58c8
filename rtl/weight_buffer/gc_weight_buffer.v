// SPDX-License-Identifier: Apache-2.0
// Transposable weight memory of DEPTH rows in COLS banks (circulant, after Venkataramanaiah et al., FPL 2019): a row
// is written rotated by its number, so a row and a column of the matrix both touch each bank once. Writing puts word j
// into bank (j + rot) mod COLS; reading gives lane j the word of bank (j + rot) mod COLS at address addr + (ramp ? j :
// 0) mod DEPTH. One row is written and one read per cycle, free running; data leave LATENCY cycles after their
// request. A request sees the writes of all earlier cycles; since LATENCY - 4 cycles are spent waiting, it also sees
// those of that many more cycles; of a row written in the next one it gives any word. Port b reads rows (no ramp)
// beside the first port, 4 cycles after s_b_valid && s_b_ready; of one that is written in that cycle any word. Each
// bank is made of PARTS memories; b waits while the first port reads the part that it needs. A read with s_rd_split
// (no ramp) gives group g of m_rd_data the row of address addr ^ g*COLS, others give every group the same words; b
// waits for it. s_scrub, while nothing is written, makes row s_scrub_addr zero as a write would.
`default_nettype none

module gc_weight_buffer #(
    parameter COLS    = 16,    // banks and words of a row, 4..64, a power of two
    parameter DW      = 16,    // bits of a weight, 8..16
    parameter DEPTH   = 1024,  // rows, a power of two, at least 16
    parameter LATENCY = 4,     // of a read, at least 4
    parameter PARTS   = 4,     // 1, 2, 4 or 8; no more than DEPTH / COLS are made
    parameter GROUPS  = 1,     // of words of a read, a power of two, no more than the parts that are made
    parameter ULTRA   = 0      // 1: memories of UltraRAM (gc_ram_sdp)
) (
    input  wire                     clk,
    input  wire                     rst,
    input  wire                     s_wr_valid,
    input  wire [$clog2(DEPTH)-1:0] s_wr_addr,
    input  wire [$clog2(COLS)-1:0]  s_wr_rot,
    input  wire [COLS*DW-1:0]       s_wr_data,
    input  wire                     s_scrub,
    input  wire [$clog2(DEPTH)-1:0] s_scrub_addr,
    input  wire                     s_rd_valid,
    input  wire [$clog2(DEPTH)-1:0] s_rd_addr,
    input  wire [$clog2(COLS)-1:0]  s_rd_rot,
    input  wire                     s_rd_ramp,
    input  wire                     s_rd_split,
    output wire                     m_rd_valid,
    output wire [GROUPS*COLS*DW-1:0] m_rd_data,
    input  wire                     s_b_valid,
    output wire                     s_b_ready,
    input  wire [$clog2(DEPTH)-1:0] s_b_addr,
    input  wire [$clog2(COLS)-1:0]  s_b_rot,
    output wire                     m_b_valid,
    output wire [COLS*DW-1:0]       m_b_data
);
    localparam ADDR_W  = $clog2(DEPTH);
    localparam ROT_W   = $clog2(COLS);
    localparam FOUND   = 3;               // latency of gc_weight_bank
    localparam SHORT   = FOUND + 1;       // of a read that does not wait
    localparam WAIT    = LATENCY - SHORT;
    localparam REQ_W   = ADDR_W + ROT_W + 2;
    localparam ROOM    = ADDR_W > ROT_W ? ADDR_W - ROT_W : 0;
    localparam PART_W  = ROOM < $clog2(PARTS) ? ROOM : $clog2(PARTS);
    localparam OUT_W   = PART_W > 0 ? PART_W : 1;

    generate
        if (COLS < 4 || COLS > 64 || (COLS & (COLS-1)) != 0) begin : g_illegal_cols
            gradcore_illegal_parameter_COLS_not_a_power_of_two_from_4_to_64 u_stop ();
        end
        if (DW < 8 || DW > 16) begin : g_illegal_dw
            gradcore_illegal_parameter_DW_not_8_to_16 u_stop ();
        end
        if (DEPTH < 16 || (DEPTH & (DEPTH-1)) != 0) begin : g_illegal_depth
            gradcore_illegal_parameter_DEPTH_not_a_power_of_two_from_16 u_stop ();
        end
        if (LATENCY < SHORT) begin : g_illegal_latency
            gradcore_illegal_parameter_LATENCY_below_4 u_stop ();
        end
        if (PARTS != 1 && PARTS != 2 && PARTS != 4 && PARTS != 8) begin : g_illegal_parts
            gradcore_illegal_parameter_PARTS_not_1_2_4_or_8 u_stop ();
        end
        if (GROUPS < 1 || GROUPS > (1 << PART_W) || (GROUPS & (GROUPS-1)) != 0) begin : g_illegal_groups
            gradcore_illegal_parameter_GROUPS_not_a_power_of_two_up_to_the_parts u_stop ();
        end
    endgenerate

    // Write: bank b takes word b - rot.
    wire [COLS*DW-1:0] wr_banks;
    reg                wr_valid_q;
    reg [COLS*DW-1:0]  wr_banks_q;

    gc_word_rotate #(
        .N(COLS),
        .W(DW)
    ) u_wr_rotate (
        .s_rot (-s_wr_rot),
        .s_data(s_wr_data),
        .m_data(wr_banks)
    );

    wire [OUT_W-1:0]  wr_part;
    wire [ADDR_W-1:0] wr_place;
    reg  [OUT_W-1:0]  wr_part_q;
    reg  [ADDR_W-1:0] wr_place_q;
    gc_row_part #(.ROW_W(ADDR_W), .ROT_W(ROT_W), .PART_W(PART_W), .OUT_W(OUT_W)) u_wr_part (
        .s_row(s_scrub ? s_scrub_addr : s_wr_addr),
        .m_part(wr_part),
        .m_place(wr_place)
    );

    always @(posedge clk) begin
        wr_valid_q <= s_wr_valid || s_scrub;
        wr_part_q  <= wr_part;
        wr_place_q <= wr_place;
        wr_banks_q <= wr_banks;
        if (s_scrub)
            wr_banks_q <= {(COLS*DW){1'b0}};
        if (rst)
            wr_valid_q <= 1'b0;
    end

    // Read: the narrow request waits, not the data. While it waits, its parts are found, and in the last cycle the rows
    // of the banks. The rows of a ramp lie in two parts at most.
    localparam EARLY = WAIT > 1 ? 1 : 0;
    localparam [31:0] LAST_LANE = COLS - 1;
    wire [REQ_W-1:0]  asked;
    wire [ADDR_W-1:0] ramp_start = asked[ADDR_W-1:0];
    wire [ADDR_W-1:0] ramp_end   = ramp_start + LAST_LANE[ADDR_W-1:0];
    wire [OUT_W-1:0]  start_part, end_part;
    wire [2*ADDR_W-1:0] places_unused;
    wire              valid;
    wire              ramp;
    wire              split;
    wire [ROT_W-1:0]  rot;
    wire [OUT_W-1:0]  first_part, last_part;
    wire [2*OUT_W-1:0] near_parts;      // a cycle before its turn
    wire              near_split, near_ramp;
    wire [ROT_W-1:0]  near_rot;
    wire [ADDR_W-1:0] near_addr;
    gc_delay_line #(.W(REQ_W), .CYCLES(EARLY)) u_asked (
        .clk(clk), .clear(1'b0), .s_data({s_rd_split, s_rd_ramp, s_rd_rot, s_rd_addr}), .m_data(asked)
    );
    gc_row_part #(.ROW_W(ADDR_W), .ROT_W(ROT_W), .PART_W(PART_W), .OUT_W(OUT_W)) u_start_part (
        .s_row(ramp_start), .m_part(start_part), .m_place(places_unused[0 +: ADDR_W])
    );
    gc_row_part #(.ROW_W(ADDR_W), .ROT_W(ROT_W), .PART_W(PART_W), .OUT_W(OUT_W)) u_end_part (
        .s_row(ramp_end), .m_part(end_part), .m_place(places_unused[ADDR_W +: ADDR_W])
    );
    gc_delay_line #(.W(1), .CYCLES(WAIT)) u_valid (.clk(clk), .clear(rst), .s_data(s_rd_valid), .m_data(valid));
    gc_delay_line #(.W(REQ_W+2*OUT_W), .CYCLES(WAIT-2*EARLY)) u_request (
        .clk(clk), .clear(1'b0),
        .s_data({start_part, end_part, asked}), .m_data({near_parts, near_split, near_ramp, near_rot, near_addr})
    );
    gc_delay_line #(.W(2+ROT_W+2*OUT_W), .CYCLES(EARLY)) u_turn (
        .clk(clk), .clear(1'b0),
        .s_data({near_parts, near_split, near_ramp, near_rot}), .m_data({first_part, last_part, split, ramp, rot})
    );
    gc_delay_line #(.W(1), .CYCLES(SHORT)) u_rd_valid (.clk(clk), .clear(rst), .s_data(valid), .m_data(m_rd_valid));

    // Port b
    wire [OUT_W-1:0]  b_part;
    wire [ADDR_W-1:0] b_place;
    gc_row_part #(.ROW_W(ADDR_W), .ROT_W(ROT_W), .PART_W(PART_W), .OUT_W(OUT_W)) u_b_part (
        .s_row(s_b_addr),
        .m_part(b_part),
        .m_place(b_place)
    );
    wire [(1 << PART_W)-1:0] free;       // parts that the first port does not read
    wire [(1 << PART_W)-1:0] b_parts;    // one-hot: the one that b reads
    wire b_read = s_b_valid && s_b_ready;
    assign s_b_ready = free[b_part];
    gc_delay_line #(.W(1), .CYCLES(SHORT)) u_b_valid (.clk(clk), .clear(rst), .s_data(b_read), .m_data(m_b_valid));

    // The rotations go with the words: address, memory and memory output register.
    wire [ROT_W-1:0] rd_rot;
    wire [ROT_W-1:0] b_rot;
    wire [OUT_W-1:0] b_from;
    gc_delay_line #(.W(ROT_W), .CYCLES(FOUND)) u_rd_rot (.clk(clk), .clear(1'b0), .s_data(rot), .m_data(rd_rot));
    gc_delay_line #(.W(ROT_W+OUT_W), .CYCLES(FOUND)) u_b_rot (
        .clk(clk), .clear(1'b0),
        .s_data({b_part, s_b_rot}),
        .m_data({b_from, b_rot})
    );

    wire [GROUPS*COLS*DW-1:0] rd_banks;
    wire [GROUPS*COLS*DW-1:0] rd_lanes;
    wire [COLS*DW-1:0] b_banks;

    genvar b, g, p;
    generate
        for (p = 0; p < (1 << PART_W); p = p + 1) begin : g_free
            assign free[p]    = !(valid && (split || first_part == p || (ramp && last_part == p)));
            assign b_parts[p] = s_b_valid && free[p] && b_part == p;
        end
        for (b = 0; b < COLS; b = b + 1) begin : g_bank
            localparam [ROT_W-1:0] BANK = b;
            wire [ROT_W-1:0]  lane = (BANK - near_rot) & {ROT_W{near_ramp}};
            wire [ADDR_W-1:0] rise;
            wire [ADDR_W-1:0] row;
            wire [GROUPS*DW-1:0] word;

            if (ADDR_W > ROT_W) begin : g_wide
                assign rise = {{(ADDR_W-ROT_W){1'b0}}, lane};
            end else begin : g_narrow
                assign rise = lane[ADDR_W-1:0];
            end

            gc_delay_line #(.W(ADDR_W), .CYCLES(EARLY)) u_row (
                .clk(clk), .clear(1'b0), .s_data(near_addr + rise), .m_data(row)
            );
            gc_weight_bank #(
                .DW(DW), .ROW_W(ADDR_W), .ROT_W(ROT_W), .PART_W(PART_W), .OUT_W(OUT_W), .GROUPS(GROUPS), .ULTRA(ULTRA)
            ) u_bank (
                .clk(clk),
                .s_wr_valid(wr_valid_q), .s_wr_part(wr_part_q), .s_wr_place(wr_place_q),
                .s_wr_data(wr_banks_q[b*DW +: DW]),
                .s_valid(valid),
                .s_row(row),
                .s_split(split),
                .m_data(word),
                .s_b_parts(b_parts), .s_b_place(b_place), .s_b_from(b_from),
                .m_b_data(b_banks[b*DW +: DW])
            );
            for (g = 0; g < GROUPS; g = g + 1) begin : g_group
                assign rd_banks[(g*COLS+b)*DW +: DW] = word[g*DW +: DW];
            end
        end
        for (g = 0; g < GROUPS; g = g + 1) begin : g_turn
            gc_word_rotate #(.N(COLS), .W(DW)) u_rd_rotate (
                .s_rot(rd_rot),
                .s_data(rd_banks[g*COLS*DW +: COLS*DW]),
                .m_data(rd_lanes[g*COLS*DW +: COLS*DW])
            );
        end
    endgenerate

    wire [COLS*DW-1:0] b_lanes;
    reg  [GROUPS*COLS*DW-1:0] rd_lanes_q;
    reg  [COLS*DW-1:0] b_lanes_q;
    gc_word_rotate #(.N(COLS), .W(DW)) u_b_rotate (.s_rot(b_rot), .s_data(b_banks), .m_data(b_lanes));

    always @(posedge clk) begin
        rd_lanes_q <= rd_lanes;
        b_lanes_q  <= b_lanes;
    end
    assign m_rd_data = rd_lanes_q;
    assign m_b_data  = b_lanes_q;

    wire _unused = &{1'b0, places_unused};
endmodule

`default_nettype wire
