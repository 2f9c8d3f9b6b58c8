// SPDX-License-Identifier: Apache-2.0
// The last stage of the drain: multiplies each lane by one of two factors and rounds the product to a word. What
// chooses is the sign of the word (leaky ReLU), its random number (dropout) or its gate bit (leaky ReLU, backward). A
// word without a factor passes at once; one with a factor comes LATE = 7 cycles later, so the one before a word without
// must lie at least 8 cycles back if it has a factor. All inputs belong to the word they come with but s_rnd, which
// comes 3 cycles later. m_over tells of m_data. Bit-exact with gradcore.machine.drain.factor.
`default_nettype none

module gc_factor #(
    parameter LANES  = 64,
    parameter DW     = 16,  // bits of an element, 8..16
    parameter USER_W = 32   // bits that travel with a word
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                s_valid,
    input  wire [1:0]          s_factor,     // chosen by: 0 no factor, 1 the sign, 2 the random number, 3 the gate
    input  wire [15:0]         s_factor_0,   // unsigned
    input  wire [15:0]         s_factor_1,   // where the word is above 0, the number at least s_threshold, the gate 1
    input  wire [4:0]          s_shift,
    input  wire [1:0]          s_mode,       // of the rounding
    input  wire [15:0]         s_threshold,
    input  wire [LANES*16-1:0] s_draw,       // random numbers that choose
    input  wire [LANES*16-1:0] s_rnd,        // those of stochastic rounding, 3 cycles later
    input  wire [LANES-1:0]    s_choice,     // gate bits that choose
    input  wire [LANES*DW-1:0] s_data,       // signed
    input  wire [LANES-1:0]    s_enable,
    input  wire [LANES-1:0]    s_gate,
    input  wire [USER_W-1:0]   s_user,
    output wire                m_valid,
    output wire                m_late,       // a word with a factor
    output wire [LANES*DW-1:0] m_data,       // signed
    output wire [LANES-1:0]    m_over,       // lane is saturated, of a word with a factor
    output wire [LANES-1:0]    m_enable,
    output wire [LANES-1:0]    m_gate,
    output wire [USER_W-1:0]   m_user
);
    localparam       LATE      = 7;
    localparam       PRODUCT_W = 33;   // also for narrow words: the shift must be below it
    localparam [1:0] SIGN = 2'd1, KEEP = 2'd2;

    wire          late = s_valid && |s_factor;
    reg [6:0]     valid_q;             // words with a factor on their way

    always @(posedge clk) begin
        valid_q <= {valid_q[5:0], late};
        if (rst) valid_q <= 7'b0;
    end

    // Stage 1 decides, 2 selects, 3 multiplies, 4 to 7 round.
    reg        sign1_q, keep1_q;
    reg [15:0] zero1_q, one1_q;

    always @(posedge clk) if (late) begin
        sign1_q <= s_factor == SIGN;
        keep1_q <= s_factor == KEEP;
        zero1_q <= s_factor_0;
        one1_q  <= s_factor_1;
    end

    wire [4:0] shift;
    wire [1:0] mode;
    gc_delay_line #(.W(7), .CYCLES(3), .CLEAR(0)) u_rounding (
        .clk(clk), .clear(1'b0), .s_data({s_shift, s_mode}), .m_data({shift, mode})
    );

    wire [LANES*DW-1:0] product;       // rounded

    genvar l;
    generate
        for (l = 0; l < LANES; l = l + 1) begin : g_lane
            wire [DW-1:0] word = s_data[l*DW +: DW];
            reg           above1_q, kept1_q, gate1_q;
            reg [DW-1:0]  word1_q, word2_q;
            reg [16:0]    factor2_q;
            reg signed [DW+16:0] product3_q;
            wire [PRODUCT_W-1:0] wide = {{(PRODUCT_W-DW-16){product3_q[DW+16]}}, product3_q[DW+15:0]};
            wire          takes_1 = sign1_q ? above1_q : keep1_q ? kept1_q : gate1_q;

            always @(posedge clk) begin
                if (late) begin
                    word1_q  <= word;
                    above1_q <= ~word[DW-1] & (|word);
                    kept1_q  <= s_draw[l*16 +: 16] >= s_threshold;
                    gate1_q  <= s_choice[l];
                end
                if (valid_q[0]) begin
                    word2_q   <= word1_q;
                    factor2_q <= {1'b0, takes_1 ? one1_q : zero1_q};
                end
                if (valid_q[1]) product3_q <= $signed(word2_q) * $signed(factor2_q);
            end

            gc_round_shift_step #(.IN_W(PRODUCT_W), .OUT_W(DW), .SHIFT_W(5)) u_round (
                .clk     (clk),
                .s_step  (valid_q[5:2]),
                .s_x     (wide),
                .s_base  ({DW{1'b0}}),
                .s_shift (shift),
                .s_mode  (mode),
                .s_rnd   (s_rnd[l*16 +: 16]),
                .m_y     (product[l*DW +: DW]),
                .m_over  (m_over[l])
            );
        end
    endgenerate

    wire [LANES-1:0]  enable, gate;
    wire [USER_W-1:0] user;
    gc_delay_line #(.W(2*LANES+USER_W), .CYCLES(LATE), .CLEAR(0)) u_beside (
        .clk(clk), .clear(1'b0), .s_data({s_enable, s_gate, s_user}), .m_data({enable, gate, user})
    );

    assign m_late   = valid_q[LATE-1];
    assign m_valid  = (s_valid && !late) || m_late;
    assign m_data   = m_late ? product : s_data;
    assign m_enable = m_late ? enable : s_enable;
    assign m_gate   = m_late ? gate : s_gate;
    assign m_user   = m_late ? user : s_user;
endmodule

`default_nettype wire
