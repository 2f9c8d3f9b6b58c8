// SPDX-License-Identifier: Apache-2.0
// One word of the gradient buffer's row: sums GROUPS words exactly and adds them to the word in memory. Free running;
// bit i of `stage` is high i cycles after a sum has entered: 0 sums, 1 reads, 3 adds; it is written back with 4, the
// memory address of the read is given with stage 1 (or a foreign read), that of the write with wr_en. m_overflow
// belongs to stage 5: the exact result of the addition did not fit into ACC_W bits. After `clear` the word to be
// written is zero.
`default_nettype none

module gc_gradient_lane #(
    parameter GROUPS = 4,    // 1, 2, 4 or 8
    parameter ACC_W  = 48,
    parameter DEPTH  = 512,
    parameter ULTRA  = 0     // of gc_ram_sdp
) (
    input  wire                     clk,
    input  wire [3:0]               stage,
    input  wire                     add_first,  // with stage 3: the old word counts as zero
    input  wire [GROUPS*ACC_W-1:0]  s_acc,
    input  wire                     clear,
    input  wire                     rd_en,
    input  wire [$clog2(DEPTH)-1:0] rd_addr,
    input  wire                     wr_en,
    input  wire [$clog2(DEPTH)-1:0] wr_addr,
    output wire [ACC_W-1:0]         m_word,     // two cycles after rd_en
    output reg                      m_overflow
);
    localparam N1   = (GROUPS > 1) ? GROUPS/2 : 1;
    localparam N2   = (GROUPS > 2) ? GROUPS/4 : 1;
    localparam HIGH = 4;                       // eight words and the old one: 2^(ACC_W+3) is not reached
    localparam ALL  = HIGH + 1 + ACC_W;        // a number of gc_pair_sum

    wire [GROUPS*ALL-1:0] words;
    wire [N1*ALL-1:0]     sum1;
    wire [N2*ALL-1:0]     sum2;
    wire [HIGH-1:0]       high;
    wire                  carry;
    wire [ACC_W-1:0]      low;

    genvar i;
    generate
        for (i = 0; i < GROUPS; i = i + 1) begin : g_word
            wire [ACC_W-1:0] word = s_acc[i*ACC_W +: ACC_W];
            assign words[i*ALL +: ALL] = {{HIGH{word[ACC_W-1]}}, 1'b0, word};
        end
    endgenerate
    gc_pair_sum #(.N(GROUPS), .M(N1), .W(ACC_W), .H(HIGH)) u_sum1 (
        .clk(clk), .enable(stage[0]), .s_data(words), .m_sum(sum1)
    );
    gc_pair_sum #(.N(N1), .M(N2), .W(ACC_W), .H(HIGH)) u_sum2 (
        .clk(clk), .enable(stage[1]), .s_data(sum1), .m_sum(sum2)
    );
    gc_pair_sum #(.N(N2), .M(1), .W(ACC_W), .H(HIGH)) u_sum3 (
        .clk(clk), .enable(stage[2]), .s_data(sum2), .m_sum({high, carry, low})
    );

    wire [ACC_W-1:0] old = m_word & {ACC_W{!add_first}};
    reg  [ACC_W-1:0] total_q;
    reg              carry_q;
    reg  [HIGH-1:0]  high_q;
    wire [HIGH-1:0]  top = high_q + {{(HIGH-1){1'b0}}, carry_q};

    always @(posedge clk) begin
        if (stage[3]) begin
            {carry_q, total_q} <= {1'b0, low} + {1'b0, old};
            high_q             <= high + {{(HIGH-1){1'b0}}, carry} + {HIGH{old[ACC_W-1]}};
        end
        if (clear) total_q <= {ACC_W{1'b0}};
        m_overflow <= top != {HIGH{total_q[ACC_W-1]}};
    end

    gc_ram_sdp #(
        .WIDTH   (ACC_W),
        .DEPTH   (DEPTH),
        .OUT_REG (1),
        .OLD_WORD(0),
        .ULTRA   (ULTRA)
    ) u_ram (
        .clk      (clk),
        .s_wr_en  (wr_en),
        .s_wr_addr(wr_addr),
        .s_wr_data(total_q),
        .s_rd_en  (rd_en),
        .s_rd_addr(rd_addr),
        .m_rd_data(m_word)
    );
endmodule

`default_nettype wire
