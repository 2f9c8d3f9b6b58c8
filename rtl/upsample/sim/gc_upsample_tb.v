// SPDX-License-Identifier: Apache-2.0
// Frames of every mode under back-pressure. A word is one of data or one of gates; those wait in a queue for their
// data.
`default_nettype none

module gc_upsample_tb;
    localparam LANES = 16, DW = 8;
    localparam IN_W  = 1 + 1 + 2 + 1 + LANES + LANES*DW;

    wire                clk, rst, valid, upsample, scale, is_gate, room, data_ready, gate_valid, gate_ready, m_valid;
    wire                m_ready, full;
    wire [IN_W-1:0]     word;
    wire [1:0]          pool_bit;
    wire [LANES-1:0]    gate, next_gate;
    wire [LANES*DW-1:0] data, m_data;

    assign {upsample, scale, pool_bit, is_gate, gate, data} = word;

    gc_tb_player #(.NAME("gc_upsample_tb"), .IN_W(IN_W), .OUT_W(LANES*DW), .STALLS(1)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(is_gate ? room : data_ready), .m_data(word),
        .s_valid(m_valid), .s_ready(m_ready), .s_data(m_data)
    );
    gc_register_queue #(.WIDTH(LANES), .DEPTH(4)) u_gates (
        .clk(clk), .rst(rst), .s_push(valid && is_gate && room), .s_data(gate), .m_room(room),
        .m_valid(gate_valid), .s_pop(gate_valid && gate_ready), .m_data(next_gate)
    );
    gc_upsample #(.GRID(4), .DW(DW)) u_upsample (
        .clk(clk), .rst(rst), .cfg_upsample(upsample), .cfg_scale(scale), .cfg_pool_bit(pool_bit),
        .s_valid(valid && !is_gate), .s_ready(data_ready), .s_data(data), .s_plain(data),
        .s_gate_valid(gate_valid), .s_gate_ready(gate_ready), .s_gate(next_gate),
        .m_valid(m_valid), .m_ready(m_ready), .m_data(m_data), .sts_full(full)
    );

    wire _unused = &{1'b0, full};
endmodule

`default_nettype wire
