// SPDX-License-Identifier: Apache-2.0
// Whether an instruction has a set bit without a name, if it is one of this opcode. The names are those of gradcore.isa
// (doc/instructions.md). One cycle later.
`default_nettype none

module gc_decode_spare (
    input  wire          clk,
    input  wire [1023:0] s_instruction,
    output wire          m_end,
    output wire          m_load,
    output wire          m_loadw,
    output wire          m_compute,
    output wire          m_store,
    output wire          m_update,
    output wire          m_vector
);
    gc_any_set #(.W(998)) u_end (.clk(clk), .m_any(m_end), .s_bits({
        s_instruction[16*0+15], s_instruction[16*1 +: 5], s_instruction[16*2 +: 16*62]
    }));
    gc_any_set #(.W(557)) u_load (.clk(clk), .m_any(m_load), .s_bits({
        s_instruction[16*0+15], s_instruction[16*1 +: 5], s_instruction[16*2+10], s_instruction[16*2+14 +: 2],
        s_instruction[16*24+7 +: 9], s_instruction[16*28+4 +: 12], s_instruction[16*29+6 +: 10],
        s_instruction[16*30+11 +: 5], s_instruction[16*32 +: 16*32]
    }));
    gc_any_set #(.W(740)) u_loadw (.clk(clk), .m_any(m_loadw), .s_bits({
        s_instruction[16*0+15], s_instruction[16*1 +: 5], s_instruction[16*2 +: 8],
        s_instruction[16*2+10 +: 6], s_instruction[16*16 +: 16*2], s_instruction[16*19 +: 16*6],
        s_instruction[16*27 +: 16*37]
    }));
    gc_any_set #(.W(12)) u_compute (.clk(clk), .m_any(m_compute), .s_bits({
        s_instruction[16*0+15], s_instruction[16*2+15], s_instruction[16*4+14 +: 2],
        s_instruction[16*5+12 +: 4], s_instruction[16*49+12 +: 4]
    }));
    gc_any_set #(.W(597)) u_store (.clk(clk), .m_any(m_store), .s_bits({
        s_instruction[16*0+15], s_instruction[16*1 +: 5], s_instruction[16*2+2 +: 2],
        s_instruction[16*2+6 +: 2], s_instruction[16*2+11], s_instruction[16*2+13 +: 3],
        s_instruction[16*22+12 +: 4], s_instruction[16*23+12 +: 4], s_instruction[16*24+7 +: 9],
        s_instruction[16*28+4 +: 12], s_instruction[16*29+6 +: 10], s_instruction[16*30 +: 16*34]
    }));
    gc_any_set #(.W(608)) u_update (.clk(clk), .m_any(m_update), .s_bits({
        s_instruction[16*0+15], s_instruction[16*1 +: 5], s_instruction[16*2+4 +: 4],
        s_instruction[16*2+10 +: 6], s_instruction[16*13 +: 16], s_instruction[16*16 +: 16*2],
        s_instruction[16*20+15], s_instruction[16*21+15], s_instruction[16*28+15], s_instruction[16*29+15],
        s_instruction[16*30+4 +: 12], s_instruction[16*31 +: 16*33]
    }));
    gc_any_set #(.W(422)) u_vector (.clk(clk), .m_any(m_vector), .s_bits({
        s_instruction[16*0+15], s_instruction[16*1 +: 5], s_instruction[16*2+14 +: 2],
        s_instruction[16*34 +: 16*2], s_instruction[16*38+2 +: 14], s_instruction[16*41 +: 16*23]
    }));

    wire _unused = &{1'b0, s_instruction};
endmodule

`default_nettype wire
