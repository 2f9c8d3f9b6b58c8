// SPDX-License-Identifier: Apache-2.0
// Executes STORE: vectors of an operand buffer, or of the gate buffer as bits, to DRAM in storage order
// (doc/instructions.md). Asks for one vector per cycle whenever m_rd_ready grants the buffer's read port and room is
// reserved; vectors come back in order after any time, each with its m_rd_mark, gates in bit 0 of each lane. Words
// outside the map and of images that only pad the last group are zero. s_instruction is stable from `start` to m_done,
// which comes when the memory has confirmed the last burst. m_bad pulses a cycle after it is seen that n_words, the
// loop counts and the beats do not agree.
`default_nettype none

module gc_store_unit #(
    parameter GRID     = 8,
    parameter DW       = 16,
    parameter MEM_W    = 512,
    parameter ADDR_W   = 48,
    parameter BURST    = 32,   // beats of a burst, at most
    parameter ACCESS_W = 1     // bits of an access record: gc_engine says how many
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    start,
    input  wire [1023:0]           s_instruction,
    input  wire [4*ADDR_W-1:0]     cfg_base,
    output wire                    m_done,
    output reg                     m_bad,
    // buffers, read side
    output wire                    m_rd_valid,
    input  wire                    m_rd_ready,
    output wire                    m_rd_urgent, // the array is to leave the read port alone
    output wire [1:0]              m_rd_buffer, // 0, 1 operand buffer, 2 gate buffer
    output wire [ACCESS_W-1:0]     m_rd_access,
    output wire                    m_rd_mark,   // of the last image group
    input  wire                    s_rd_valid,
    input  wire                    s_rd_mark,
    input  wire [GRID*GRID*DW-1:0] s_rd_data,
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
    localparam FREE_W = $clog2(CREDIT) + 1;
    localparam [FREE_W-1:0] ALL_BACK = CREDIT[FREE_W-1:0];
    localparam [FREE_W-1:0] ONE      = 1;

    // Fields of the instruction.
    wire [1:0]  base_sel;
    wire [47:0] addr;
    wire [31:0] run_beats, stride1, stride2, n_words;
    wire [15:0] n1, n2;
    gc_decode_dram u_dram (
        .s_instruction(s_instruction),
        .m_base_sel(base_sel), .m_addr(addr),
        .m_run_beats(run_beats), .m_n_words(n_words),
        .m_n1(n1), .m_stride1(stride1),
        .m_n2(n2), .m_stride2(stride2)
    );
    wire [1:0]  buffer, fold;
    wire        urgent, bits;
    wire [19:0] gate_base;
    wire [15:0] n_b, n_y, n_x, n_c;
    wire [15:0] base, stride_b, stride_y, stride_x;
    wire [11:0] height, width;
    wire [6:0]  n_valid;
    wire [2:0]  rot_y, rot_x;
    gc_decode_store u_store (
        .s_instruction(s_instruction),
        .m_buffer(buffer), .m_packed(bits), .m_gate_base(gate_base), .m_fold(fold), .m_urgent(urgent),
        .m_n_b(n_b), .m_n_y(n_y), .m_n_x(n_x), .m_n_c(n_c),
        .m_base(base), .m_stride_b(stride_b), .m_stride_y(stride_y), .m_stride_x(stride_x),
        .m_rot_y(rot_y), .m_rot_x(rot_x), .m_height(height), .m_width(width), .m_n_valid(n_valid)
    );

    wire        walk_valid;
    wire        walk_last;
    wire [19:0] walk_addr;
    wire [11:0] walk_y0;
    wire [11:0] walk_x0;
    wire [15:0] walk_chan;
    wire        room;
    wire [FREE_W-1:0] free;

    wire                word_valid;
    wire                word_ready;
    wire [LANES*DW-1:0] word_data;
    wire                ask  = m_rd_valid && m_rd_ready;
    wire                used = word_valid && word_ready;

    gc_vector_walker u_walker (
        .clk(clk), .rst(rst), .start(start),
        .cfg_upsample(1'b0), .cfg_fold(fold),
        .cfg_n_b(n_b), .cfg_n_y(n_y), .cfg_n_x(n_x), .cfg_n_c(n_c),
        .cfg_base(buffer[1] ? gate_base : {4'd0, base}),
        .cfg_stride_b(stride_b), .cfg_stride_y(stride_y), .cfg_stride_x(stride_x),
        .cfg_stride_qy(16'd0), .cfg_stride_qx(16'd0),
        .m_valid(walk_valid), .m_ready(m_rd_ready && room),
        .m_addr(walk_addr), .m_y0(walk_y0), .m_x0(walk_x0), .m_chan(walk_chan),
        .m_last_group(m_rd_mark), .m_last(walk_last)
    );
    gc_natural_access #(.ACCESS_W(ACCESS_W)) u_access (
        .s_addr(walk_addr), .s_y0(walk_y0), .s_x0(walk_x0), .s_chan(walk_chan),
        .s_fold(fold), .s_rot_y(rot_y), .s_rot_x(rot_x), .s_height(height), .s_width(width),
        .m_access(m_rd_access)
    );
    assign m_rd_valid  = walk_valid && room;
    assign m_rd_buffer = buffer;
    assign m_rd_urgent = urgent;

    // The buffer masks the lanes outside the map. Those of images are no product of rows and columns.
    wire [LANES-1:0] inside_unused;
    wire [LANES-1:0] image;
    reg  [LANES-1:0] image_q;
    gc_lane_mask #(.GRID(GRID)) u_mask (
        .s_fold(fold), .s_images(n_valid),
        .s_y0(12'd0), .s_x0(12'd0), .s_height(12'd0), .s_width(12'd0),
        .m_inside(inside_unused), .m_image(image)
    );
    always @(posedge clk) image_q <= image;

    wire [LANES*DW-1:0] kept;
    genvar l;
    generate
        for (l = 0; l < LANES; l = l + 1) begin : g_lane
            assign kept[l*DW +: DW] = s_rd_data[l*DW +: DW] & {DW{image_q[l] || !s_rd_mark}};
        end
    endgenerate

    // One credit per free place of the FIFO that catches the vectors. The last word is the last vector of the walk.
    wire last_word;
    wire word_open;
    wire writer_bad;
    wire early = used && last_word && (walk_valid || free != ALL_BACK - ONE);
    wire late  = word_open && !walk_valid && free == ALL_BACK;
    gc_credit_counter #(.CREDITS(CREDIT)) u_credit (
        .clk(clk), .rst(rst),
        .s_take(ask), .s_give(used),
        .m_any(room), .sts_free(free)
    );
    always @(posedge clk) begin
        m_bad <= writer_bad || early || late;
        if (rst) m_bad <= 1'b0;
    end

    wire words_s_ready_unused;
    wire [4:0] words_sts_level_unused;
    gc_stream_fifo #(.WIDTH(LANES*DW), .DEPTH(CREDIT)) u_words (
        .clk(clk), .rst(rst),
        .s_valid(s_rd_valid), .s_ready(words_s_ready_unused), .s_data(kept),
        .m_valid(word_valid), .m_ready(word_ready), .m_data(word_data),
        .sts_level(words_sts_level_unused)
    );

    gc_word_writer #(
        .LANES(LANES), .DW(DW), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .PACKED(1), .BURST(BURST)
    ) u_writer (
        .clk(clk), .rst(rst), .start(start),
        .cfg_addr(addr), .cfg_base(cfg_base), .cfg_base_sel(base_sel),
        .cfg_run_beats(run_beats), .cfg_n_words(n_words), .cfg_packed(bits),
        .cfg_n1(n1), .cfg_stride1(stride1),
        .cfg_n2(n2), .cfg_stride2(stride2),
        .s_valid(word_valid), .s_ready(word_ready), .s_data(word_data), .m_done(m_done),
        .m_last(last_word), .sts_open(word_open), .sts_bad(writer_bad),
        .m_wreq_valid(m_wreq_valid), .m_wreq_ready(m_wreq_ready), .m_wreq_addr(m_wreq_addr), .m_wreq_len(m_wreq_len),
        .m_wdat_valid(m_wdat_valid), .m_wdat_ready(m_wdat_ready),
        .m_wdat_data(m_wdat_data), .m_wdat_strb(m_wdat_strb), .m_wdat_last(m_wdat_last),
        .s_wrsp_valid(s_wrsp_valid)
    );

    wire _unused = &{1'b0, walk_last, inside_unused, words_s_ready_unused, words_sts_level_unused};
endmodule

`default_nettype wire
