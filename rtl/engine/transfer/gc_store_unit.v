// SPDX-License-Identifier: Apache-2.0
// Executes STORE: vectors of an operand buffer, or of the gate buffer as bits, to DRAM in storage order (doc/instructions.md). Asks for one vector per
// cycle whenever m_rd_ready grants the buffer's read port and room is reserved; vectors come back in order after any time, each
// with its m_rd_mark. Words outside the map and of images that only pad the last group are zero.
// s_instruction is stable from `start` to m_done, which comes when the memory has confirmed the last burst. m_bad pulses a cycle after it
// is seen that n_words, the loop counts and the beats do not agree.
`default_nettype none

module gc_store_unit #(
    parameter GRID     = 8,
    parameter DW       = 16,
    parameter MEM_W    = 512,
    parameter ADDR_W   = 48,
    parameter ACCESS_W = 142
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    start,
    input  wire [1023:0]           s_instruction,
    input  wire [4*ADDR_W-1:0]     cfg_base,
    output wire                    m_done,
    output reg                     m_bad,
    // operand buffers and gate buffer, read side
    output wire                    m_rd_valid,
    input  wire                    m_rd_ready,
    output wire                    m_hold,      // urgent: the array is to leave the read port alone
    output wire [1:0]              m_rd_buffer, // 2: gate buffer
    output wire [ACCESS_W-1:0]     m_rd_access,
    output wire                    m_rd_mark,   // of the last image group
    input  wire                    s_rd_valid,
    input  wire                    s_rd_mark,
    input  wire [GRID*GRID*DW-1:0] s_rd_data,
    input  wire                    s_gate_valid,
    input  wire                    s_gate_mark,
    input  wire [GRID*GRID-1:0]    s_gate_data,
    // memory, write side
    output wire                    m_wreq_valid,
    input  wire                    m_wreq_ready,
    output wire [ADDR_W-1:0]       m_wreq_addr,
    output wire [7:0]              m_wreq_len,
    output wire                    m_wdat_valid,
    input  wire                    m_wdat_ready,
    output wire [MEM_W-1:0]        m_wdat_data,
    output wire [MEM_W/8-1:0]      m_wdat_strb,
    output wire                    m_wdat_last,
    input  wire                    s_wrsp_valid
);
    localparam LANES  = GRID*GRID;
    localparam CREDIT = 16;
    localparam [4:0] ALL_BACK = CREDIT;

    wire        walk_valid;
    wire        walk_last;
    wire [19:0] walk_addr;
    wire [11:0] walk_y0;
    wire [11:0] walk_x0;
    wire [15:0] walk_chan;
    wire [1:0]  fold = s_instruction[2*16+4 +: 2];
    wire        gates = s_instruction[2*16+1];
    wire        mark  = gates ? s_gate_mark : s_rd_mark;
    reg  [4:0]  credit_q;

    wire                word_valid;
    wire                word_ready;
    wire [LANES*DW-1:0] word_data;
    wire                ask  = m_rd_valid && m_rd_ready;
    wire                used = word_valid && word_ready;

    gc_vector_walker u_walker (
        .clk(clk), .rst(rst), .start(start), .cfg_upsample(1'b0), .cfg_fold(fold),
        .cfg_n_b(s_instruction[14*16 +: 16]), .cfg_n_y(s_instruction[15*16 +: 16]),
        .cfg_n_x(s_instruction[16*16 +: 16]), .cfg_n_c(s_instruction[17*16 +: 16]),
        .cfg_base(gates ? s_instruction[27*16 +: 20] : {4'd0, s_instruction[18*16 +: 16]}), .cfg_stride_b(s_instruction[19*16 +: 16]),
        .cfg_stride_y(s_instruction[20*16 +: 16]), .cfg_stride_x(s_instruction[21*16 +: 16]),
        .cfg_stride_qy(16'd0), .cfg_stride_qx(16'd0),
        .m_valid(walk_valid), .m_ready(m_rd_ready && |credit_q),
        .m_addr(walk_addr), .m_y0(walk_y0), .m_x0(walk_x0), .m_chan(walk_chan), .m_last_group(m_rd_mark), .m_last(walk_last)
    );
    gc_natural_access u_access (
        .s_addr(walk_addr), .s_y0(walk_y0), .s_x0(walk_x0), .s_chan(walk_chan), .s_fold(fold),
        .s_height(s_instruction[22*16 +: 12]), .s_width(s_instruction[23*16 +: 12]), .m_access(m_rd_access)
    );
    assign m_rd_valid  = walk_valid && |credit_q;
    assign m_rd_buffer = s_instruction[2*16 +: 2];
    assign m_hold      = m_rd_valid && !m_rd_ready && s_instruction[2*16+10] && !gates;

    // The buffer masks the lanes outside the map. Those of images are no product of rows and columns.
    wire [LANES-1:0] inside_unused;
    wire [LANES-1:0] image;
    reg  [LANES-1:0] image_q;
    gc_lane_mask #(.GRID(GRID)) u_mask (
        .s_fold(fold), .s_y0(12'd0), .s_x0(12'd0), .s_height(12'd0), .s_width(12'd0), .s_images(s_instruction[24*16 +: 7]),
        .m_inside(inside_unused), .m_image(image)
    );
    always @(posedge clk) image_q <= image;

    wire [LANES*DW-1:0] kept;
    genvar l;
    generate
        for (l = 0; l < LANES; l = l + 1) begin : g_lane
            wire lowest = gates ? s_gate_data[l] : s_rd_data[l*DW];
            assign kept[l*DW +: DW] = {s_rd_data[l*DW+1 +: DW-1], lowest} & {DW{image_q[l] || !mark}};
        end
    endgenerate

    // One credit per free place of the FIFO that catches the vectors. The last word is the last vector of the walk.
    wire last_word;
    wire word_open;
    wire writer_bad;
    always @(posedge clk) begin
        if (ask && !used)      credit_q <= credit_q - 5'd1;
        else if (used && !ask) credit_q <= credit_q + 5'd1;
        m_bad <= writer_bad || (used && last_word && (walk_valid || credit_q != ALL_BACK - 5'd1)) || (word_open && !walk_valid && credit_q == ALL_BACK);
        if (rst) begin
            credit_q <= CREDIT;
            m_bad    <= 1'b0;
        end
    end

    wire words_s_ready_unused;
    wire [4:0] words_sts_level_unused;
    gc_stream_fifo #(.WIDTH(LANES*DW), .DEPTH(CREDIT)) u_words (
        .clk(clk), .rst(rst),
        .s_valid(s_rd_valid || s_gate_valid), .s_ready(words_s_ready_unused), .s_data(kept),
        .m_valid(word_valid), .m_ready(word_ready), .m_data(word_data), .sts_level(words_sts_level_unused)
    );

    gc_word_writer #(.LANES(LANES), .DW(DW), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .PACKED(1)) u_writer (
        .clk(clk), .rst(rst), .start(start), .s_instruction(s_instruction), .cfg_packed(gates),
        .cfg_addr(s_instruction[3*16 +: 48]), .cfg_base(cfg_base),
        .s_valid(word_valid), .s_ready(word_ready), .s_data(word_data), .m_done(m_done),
        .m_last(last_word), .sts_open(word_open), .sts_bad(writer_bad),
        .m_wreq_valid(m_wreq_valid), .m_wreq_ready(m_wreq_ready), .m_wreq_addr(m_wreq_addr), .m_wreq_len(m_wreq_len),
        .m_wdat_valid(m_wdat_valid), .m_wdat_ready(m_wdat_ready), .m_wdat_data(m_wdat_data), .m_wdat_strb(m_wdat_strb),
        .m_wdat_last(m_wdat_last), .s_wrsp_valid(s_wrsp_valid)
    );

    wire _unused = &{1'b0, walk_last, inside_unused, words_s_ready_unused, words_sts_level_unused};
endmodule

`default_nettype wire
