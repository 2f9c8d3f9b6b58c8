// SPDX-License-Identifier: Apache-2.0
// All of an UPDATE. Names and places are those of gradcore.isa (doc/instructions.md). Wires only.
`default_nettype none

module gc_decode_update (
    input  wire [1023:0] s_instruction,
    output wire [15:0]   m_n_outer,
    output wire [15:0]   m_n_inner,
    output wire          m_momentum,
    output wire [1:0]    m_rounding,
    output wire          m_resident,
    output wire [1:0]    m_base_sel,
    output wire [47:0]   m_addr,
    output wire [31:0]   m_run_beats,
    output wire [47:0]   m_momentum_addr,
    output wire [15:0]   m_wgt_base,
    output wire [15:0]   m_wgt_inner,
    output wire [15:0]   m_base,
    output wire [5:0]    m_shift_g,
    output wire [4:0]    m_shift_v,
    output wire [3:0]    m_shift_d,
    output wire [4:0]    m_shift_w,
    output wire [14:0]   m_lr_m,
    output wire [14:0]   m_beta_m,
    output wire [14:0]   m_decay_m,
    output wire [14:0]   m_rate_m,
    output wire [15:0]   m_rnd_tag,
    output wire [31:0]   m_key,
    output wire [31:0]   m_n_words,
    output wire [15:0]   m_map0
);
    assign m_n_outer       = s_instruction[16*14 +: 16];
    assign m_n_inner       = s_instruction[16*15 +: 16];
    assign m_momentum      = s_instruction[16*2];
    assign m_rounding      = s_instruction[16*2+1 +: 2];
    assign m_resident      = s_instruction[16*2+3];
    assign m_base_sel      = s_instruction[16*2+8 +: 2];
    assign m_addr          = s_instruction[16*3 +: 48];
    assign m_run_beats     = s_instruction[16*6 +: 32];
    assign m_momentum_addr = s_instruction[16*8 +: 48];
    assign m_wgt_base      = s_instruction[16*11 +: 16];
    assign m_wgt_inner     = s_instruction[16*12 +: 16];
    assign m_base          = s_instruction[16*18 +: 16];
    assign m_shift_g       = s_instruction[16*19 +: 6];
    assign m_shift_v       = s_instruction[16*19+6 +: 5];
    assign m_shift_d       = s_instruction[16*30 +: 4];
    assign m_shift_w       = s_instruction[16*19+11 +: 5];
    assign m_lr_m          = s_instruction[16*20 +: 15];
    assign m_beta_m        = s_instruction[16*21 +: 15];
    assign m_decay_m       = s_instruction[16*28 +: 15];
    assign m_rate_m        = s_instruction[16*29 +: 15];
    assign m_rnd_tag       = s_instruction[16*22 +: 16];
    assign m_key           = s_instruction[16*23 +: 32];
    assign m_n_words       = s_instruction[16*25 +: 32];
    assign m_map0          = s_instruction[16*27 +: 16];

    wire _unused = &{1'b0, s_instruction};
endmodule

`default_nettype wire
