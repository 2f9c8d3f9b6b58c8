// SPDX-License-Identifier: Apache-2.0
// Says whether an instruction has a field that no program may have: a count of zero, an address that is no multiple of the beat, a choice
// that does not exist, a set bit that has no name (doc/instructions.md, "Refused instructions"). Combinational. Equal to gradcore.isa.instruction.problem
// and, for the unnamed bits, gradcore.isa.instruction.decode. Unknown opcodes are dispatch's business.
`default_nettype none

module gc_instruction_check #(
    parameter GRID  = 8,
    parameter COLS  = 16,
    parameter MEM_W = 512,
    parameter WGT_DEPTH = 8192
) (
    input  wire [1023:0] s_instruction,
    output wire          m_bad
);
    localparam [3:0]  END        = 4'd0;
    localparam [3:0]  LOAD       = 4'd1;
    localparam [3:0]  LOADW      = 4'd2;
    localparam [3:0]  COMPUTE    = 4'd3;
    localparam [3:0]  STORE      = 4'd4;
    localparam [3:0]  UPDATE     = 4'd5;
    localparam        BEAT       = $clog2(MEM_W/8);
    localparam        SMALL      = GRID == 4;    // fold 3 is beyond the grid
    localparam [15:0] ALL        = COLS[15:0];
    localparam        SPLIT      = COLS < GRID*GRID && WGT_DEPTH >= GRID*GRID;

    wire [15:0] h [0:63];
    genvar i;
    generate
        for (i = 0; i < 64; i = i + 1) begin : g_half_word
            assign h[i] = s_instruction[16*i +: 16];
        end
    endgenerate

    wire [3:0] opcode   = h[0][3:0];
    wire       strided  = opcode == LOAD || opcode == LOADW || opcode == STORE;
    wire       transfer = strided || opcode == UPDATE;
    wire       vectors  = opcode == LOAD || opcode == STORE;
    wire       rows     = opcode == LOADW || opcode == UPDATE;
    wire       compute  = opcode == COMPUTE;
    wire       wu       = h[2][1:0] == 2'd2;

    wire bad_transfer = |h[3][BEAT-1:0] || ~(|{h[7], h[6]}) || ~(|{h[26], h[25]});
    wire bad_strides  = ~(|h[8]) || ~(|h[11]) || |h[9][BEAT-1:0] || |h[12][BEAT-1:0];
    wire bad_update   = (h[2][0] && |h[8][BEAT-1:0]) || (h[2][3] && ~(|h[12]));
    wire bad_vectors  = ~(|h[14]) || ~(|h[15]) || ~(|h[16]) || ~(|h[17]) || (SMALL && &h[2][5:4]);
    wire bad_map      = ~(|h[22]) || ~(|h[23]) || ~(|h[24]);
    wire bits         = h[2][12];
    wire bad_buffer   = (h[2][1] && h[2][0]) || (bits && !h[2][1]) || (opcode == STORE && h[2][1] && !bits);
    wire bad_derive   = h[2][11] && |h[2][3:1];
    wire bad_rows     = ~(|h[14]) || ~(|h[15]);
    wire bad_choices  = &h[2][1:0] || &h[2][10:9] || ~(|h[31]) || h[31] > ALL;
    wire bad_split    = h[2][14] && (|h[2][1:0] || !SPLIT);
    wire one_pass     = ~(|h[24][15:1]) && ~(|h[26][15:1]) && ~(|h[27][15:1]);
    wire bad_keep     = |h[4][13:12] && (wu || !one_pass);
    wire bad_folds    = SMALL && (&h[3][1:0] || &h[3][3:2] || &h[3][5:4] || &h[3][7:6] || &h[3][9:8]);
    wire bad_counts   = ~(|h[24]) || ~(|h[26]) || ~(|h[27]) || ~(|h[28]) || ~(|h[29]) || (wu ? ~(|h[25]) : ~(|h[30]));

    // Bits without a name.
    wire spare_all     = h[0][15] || |s_instruction[16*59 +: 16*5] || (!compute && (|h[1][4:0] || |s_instruction[16*29 +: 16*30]));
    wire spare_end     = |s_instruction[16*2 +: 16*27];
    wire spare_load    = |h[2][15:13] || h[2][10] || |h[24] || |h[28][15:4];
    wire spare_store   = |h[2][15:13] || h[2][11] || |h[2][7:6] || |h[2][3:2] || |h[22][15:12] || |h[23][15:12] || |h[24][15:7] || |h[28][15:4];
    wire spare_loadw   = |h[2][15:10] || |h[2][7:0] || |{h[17], h[16]} || |s_instruction[16*19 +: 16*6] || |{h[28], h[27]};
    wire spare_update  = |h[2][15:10] || |h[2][7:4] || |h[13] || |{h[17], h[16]} || h[19][15] || h[20][15] || h[21][15] || |{h[28], h[27]};
    wire spare_compute = h[2][15] || |h[4][15:14] || |h[5][15:12] || |h[21] || |h[39][15:4] || |h[49][15:6] || |h[56][15:4];
    wire bad_spare     = spare_all || (opcode == END && spare_end) || (opcode == LOAD && spare_load) || (opcode == STORE && spare_store)
                      || (opcode == LOADW && spare_loadw) || (opcode == UPDATE && spare_update) || (compute && spare_compute);

    assign m_bad = bad_spare || (transfer && bad_transfer) || (strided && bad_strides) || (opcode == UPDATE && bad_update)
                || (vectors && (bad_vectors || bad_buffer)) || (opcode == LOAD && bad_derive) || (opcode == STORE && bad_map) || (rows && bad_rows)
                || (compute && (bad_choices || bad_split || bad_keep || bad_folds || bad_counts));

    wire _unused = &{1'b0, s_instruction};
endmodule

`default_nettype wire
