// SPDX-License-Identifier: Apache-2.0
// Words of both losses back to back; a word with `look` reads the sum of the loss.
`default_nettype none

module gc_loss_tb;
    localparam LANES = 16, DW = 12;
    localparam IN_W  = 1 + 2 + DW + DW + 5 + LANES + LANES + LANES*DW;

    wire                clk, rst, valid, s_ready, look, m_valid;
    wire [IN_W-1:0]     word;
    wire [1:0]          kind;
    wire [DW-1:0]       t_pos, t_neg;
    wire [4:0]          shift;
    wire [LANES-1:0]    target, enable;
    wire [LANES*DW-1:0] data, delta;
    wire [63:0]         loss;

    assign {look, kind, t_pos, t_neg, shift, target, enable, data} = word;

    gc_tb_player #(.NAME("gc_loss_tb"), .IN_W(IN_W), .OUT_W(LANES*DW)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(1'b1), .m_data(word), .s_valid(m_valid || (valid && look)),
        .s_ready(s_ready), .s_data(m_valid ? delta : {{(LANES*DW-64){1'b0}}, loss})
    );
    wire [15:0] over;
    gc_loss #(.GRID(4), .DW(DW)) u_loss (
        .clk(clk), .rst(rst),
        .cfg_clear(1'b0),
        .s_valid(valid && !look),
        .s_kind(kind),
        .s_t_pos(t_pos), .s_t_neg(t_neg),
        .s_shift(shift),
        .s_target(target),
        .s_enable(enable),
        .s_data(data),
        .m_valid(m_valid),
        .m_delta(delta),
        .m_over(over),
        .sts_loss(loss)
    );

    wire _unused = &{1'b0, s_ready, over};
endmodule

`default_nettype wire
