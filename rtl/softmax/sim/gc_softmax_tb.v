// SPDX-License-Identifier: Apache-2.0
// Frames under back-pressure. A word is one of data, one of gates, which wait in a queue for their data, or the start
// of a frame; a word with `sum` makes LOSS come back.
`default_nettype none

module gc_softmax_tb;
    localparam LANES = 16, DW = 8;
    localparam IN_W  = 3 + 8 + 8 + 6 + 5 + LANES + LANES*DW;

    wire                clk, rst, valid, is_start, is_gate, is_sum, room, data_ready, gate_valid, gate_ready, m_valid;
    wire                m_ready, busy, saturated;
    wire [IN_W-1:0]     word;
    wire [7:0]          vectors, classes;
    wire [5:0]          u_shift;
    wire [4:0]          loss_shift;
    wire [LANES-1:0]    gate, next_gate;
    wire [LANES*DW-1:0] data, m_data;
    wire [63:0]         loss;

    assign {is_start, is_gate, is_sum, vectors, classes, u_shift, loss_shift, gate, data} = word;

    gc_tb_player #(.NAME("gc_softmax_tb"), .IN_W(IN_W), .OUT_W(LANES*DW), .STALLS(1)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid),
        .m_ready(is_start || (is_gate ? room : is_sum ? m_ready && !m_valid : data_ready)), .m_data(word),
        .s_valid(m_valid || (valid && is_sum)), .s_ready(m_ready), .s_data(m_valid ? m_data : {64'd0, loss})
    );
    gc_register_queue #(.WIDTH(LANES), .DEPTH(4)) u_gates (
        .clk(clk), .rst(rst), .s_push(valid && is_gate && room), .s_data(gate), .m_room(room),
        .m_valid(gate_valid), .s_pop(gate_valid && gate_ready), .m_data(next_gate)
    );
    gc_softmax #(.LANES(LANES), .DW(DW)) u_softmax (
        .clk(clk), .rst(rst), .start(valid && is_start),
        .cfg_vectors({8'd0, vectors}), .cfg_classes({8'd0, classes}), .cfg_kept(gate),
        .cfg_u_shift(u_shift), .cfg_loss_shift(loss_shift), .s_clear(1'b0),
        .s_valid(valid && !is_start && !is_gate && !is_sum), .s_ready(data_ready), .s_data(data),
        .s_gate_valid(gate_valid), .s_gate_ready(gate_ready), .s_gate(next_gate),
        .m_valid(m_valid), .m_ready(m_ready), .m_data(m_data), .sts_saturated(saturated),
        .sts_busy(busy), .sts_loss(loss)
    );

    wire _unused = &{1'b0, busy, saturated};
endmodule

`default_nettype wire
