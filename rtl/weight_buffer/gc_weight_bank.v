// SPDX-License-Identifier: Apache-2.0
// One bank of the weight buffer: DEPTH words in 2^PART_W memories. Reads s_row with s_valid; beside it, in another
// part, the word of port b. Both come 3 cycles later and stay until the next. Whoever drives b sees to it that the
// parts differ. Group g of m_data is the word of s_row, with s_split that of s_row whose part is exclusive-ored with
// g: rows that differ in the lowest digit lie at one place.
`default_nettype none

module gc_weight_bank #(
    parameter DW     = 16,
    parameter ROW_W  = 10,   // log2 DEPTH
    parameter ROT_W  = 4,
    parameter PART_W = 2,
    parameter OUT_W  = 2,
    parameter GROUPS = 1,    // no more than the parts
    parameter ULTRA  = 0     // of gc_ram_sdp
) (
    input  wire             clk,
    input  wire             s_wr_valid,
    input  wire [OUT_W-1:0] s_wr_part,
    input  wire [ROW_W-1:0] s_wr_place,
    input  wire [DW-1:0]    s_wr_data,
    input  wire             s_valid,
    input  wire [ROW_W-1:0] s_row,
    input  wire             s_split,
    output wire [GROUPS*DW-1:0] m_data,
    input  wire [(1 << PART_W)-1:0] s_b_parts,   // the one in which b reads, if it does
    input  wire [ROW_W-1:0] s_b_place,
    input  wire [OUT_W-1:0] s_b_from,            // part of the word of b that leaves now
    output wire [DW-1:0]    m_b_data
);
    localparam PARTS   = 1 << PART_W;
    localparam PLACE_W = ROW_W - PART_W;

    wire [OUT_W-1:0] part;
    wire [ROW_W-1:0] place;
    gc_row_part #(.ROW_W(ROW_W), .ROT_W(ROT_W), .PART_W(PART_W), .OUT_W(OUT_W)) u_part (
        .s_row(s_row),
        .m_part(part),
        .m_place(place)
    );

    wire [DW-1:0] words [0:PARTS-1];

    genvar p, g;
    generate
        for (g = 0; g < GROUPS; g = g + 1) begin : g_group
            localparam [OUT_W-1:0] OTHER = g;
            wire [OUT_W-1:0] from;
            gc_delay_line #(.W(OUT_W), .CYCLES(3)) u_from (
                .clk(clk), .clear(1'b0),
                .s_data(part ^ (OTHER & {OUT_W{s_split}})),
                .m_data(from)
            );
            assign m_data[g*DW +: DW] = words[from];
        end
        for (p = 0; p < PARTS; p = p + 1) begin : g_part
            reg                read_q;
            reg  [PLACE_W-1:0] place_q;

            always @(posedge clk) begin
                read_q  <= s_b_parts[p] || (s_valid && (s_split || part == p));
                place_q <= s_b_parts[p] ? s_b_place[PLACE_W-1:0] : place[PLACE_W-1:0];
            end
            gc_ram_sdp #(
                .WIDTH   (DW),
                .DEPTH   (1 << PLACE_W),
                .OUT_REG (1),
                .OLD_WORD(0),
                .ULTRA   (ULTRA)
            ) u_ram (
                .clk      (clk),
                .s_wr_en  (s_wr_valid && s_wr_part == p),
                .s_wr_addr(s_wr_place[PLACE_W-1:0]),
                .s_wr_data(s_wr_data),
                .s_rd_en  (read_q),
                .s_rd_addr(place_q),
                .m_rd_data(words[p])
            );
        end
    endgenerate

    assign m_b_data = words[s_b_from];

    wire _unused = &{1'b0, place, s_wr_place, s_b_place};
endmodule

`default_nettype wire
