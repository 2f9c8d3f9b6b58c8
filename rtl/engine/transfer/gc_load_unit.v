// SPDX-License-Identifier: Apache-2.0
// Executes LOAD: vectors from DRAM into an operand buffer or the gate buffer, with up-sampling and scaling by gate
// vectors on the way; or into an operand buffer, and gates derived from them into the gate buffer; or outputs of the
// last layer, which become its local gradient, by target bits from the gate buffer (doc/instructions.md). One vector
// per cycle at most; the memory port sets the pace. A write waits until m_wr_ready is high for all its buffers, and is
// then shown to them in one cycle. Gate reads wait for m_gate_ready; gate vectors come back in order after any time,
// and room for them is reserved. s_instruction is stable from `start` to m_done, which comes a cycle after the last
// write has been taken. m_bad pulses a cycle after it is seen that n_words, the loop counts and the beats do not
// agree.
`default_nettype none

module gc_load_unit #(
    parameter GRID     = 8,
    parameter DW       = 16,
    parameter MEM_W    = 512,
    parameter ADDR_W   = 48,
    parameter BURST    = 32,   // beats of a burst, at most
    parameter ACCESS_W = 1,    // bits of an access record: gc_engine says how many
    parameter HAS_SOFTMAX = 1  // 0: without gc_softmax, `softmax` is 0
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    start,
    input  wire [1023:0]           s_instruction,
    input  wire [4*ADDR_W-1:0]     cfg_base,
    output reg                     m_done,
    output reg                     m_bad,
    // memory, read side
    output wire                    m_rreq_valid,
    input  wire                    m_rreq_ready,
    output wire [ADDR_W-1:0]       m_rreq_addr,
    output wire [7:0]              m_rreq_len,
    input  wire                    s_rdat_valid,
    input  wire [MEM_W-1:0]        s_rdat_data,
    input  wire                    s_rdat_last,
    // gate buffer, read side
    output wire                    m_gate_valid,
    input  wire                    m_gate_ready,
    output wire [ACCESS_W-1:0]     m_gate_access,
    input  wire                    s_gate_valid,
    input  wire [GRID*GRID-1:0]    s_gate_data,
    // writes
    output wire [2:0]              m_wr_valid,   // operand buffers 0, 1, gate buffer
    input  wire [2:0]              m_wr_ready,
    output wire [ACCESS_W-1:0]     m_wr_access,
    output wire [GRID*GRID*DW-1:0] m_wr_data,
    output wire [ACCESS_W-1:0]     m_wr_gate_access,
    output wire [GRID*GRID-1:0]    m_wr_gate,    // what the gate buffer takes
    // softmax
    input  wire                    s_clear,
    output wire                    sts_saturated,  // pulse: a vector of local gradients
    output wire [63:0]             sts_loss
);
    localparam LANES       = GRID*GRID;
    localparam GATE_CREDIT = 16;

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
    wire [1:0]  buffer, fold, pool_bit;
    wire        upsample, scale, derive, bits, asked;
    wire [15:0] n_b, n_y, n_x, n_c;
    wire [15:0] base, stride_b, stride_y, stride_x, stride_qy, stride_qx;
    wire [19:0] gate_base;
    wire [2:0]  rot_y, rot_x;
    wire [6:0]  n_valid;
    wire [5:0]  u_shift;
    wire [4:0]  loss_shift;
    wire [15:0] classes;
    gc_decode_load u_load (
        .s_instruction(s_instruction),
        .m_buffer(buffer), .m_packed(bits), .m_fold(fold), .m_derive(derive),
        .m_upsample(upsample), .m_scale(scale), .m_pool_bit(pool_bit),
        .m_n_b(n_b), .m_n_y(n_y), .m_n_x(n_x), .m_n_c(n_c),
        .m_base(base), .m_gate_base(gate_base), .m_rot_y(rot_y), .m_rot_x(rot_x),
        .m_stride_b(stride_b), .m_stride_y(stride_y), .m_stride_x(stride_x),
        .m_stride_qy(stride_qy), .m_stride_qx(stride_qx),
        .m_softmax(asked), .m_n_valid(n_valid), .m_u_shift(u_shift), .m_loss_shift(loss_shift), .m_classes(classes)
    );
    wire        softmax = HAS_SOFTMAX != 0 && asked;

    // Vectors from DRAM.
    wire                vec_valid;
    wire                vec_ready;
    wire [LANES*DW-1:0] vec_data;
    wire                vec_open;
    wire                reader_bad;
    wire                reader_m_last_unused;
    gc_word_reader #(
        .LANES(LANES), .DW(DW), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .PACKED(1), .BURST(BURST)
    ) u_reader (
        .clk(clk), .rst(rst), .start(start),
        .cfg_addr(addr), .cfg_base(cfg_base), .cfg_base_sel(base_sel),
        .cfg_run_beats(run_beats), .cfg_n_words(n_words), .cfg_packed(bits),
        .cfg_n1(n1), .cfg_stride1(stride1),
        .cfg_n2(n2), .cfg_stride2(stride2),
        .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready), .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len),
        .s_rdat_valid(s_rdat_valid), .s_rdat_data(s_rdat_data), .s_rdat_last(s_rdat_last),
        .m_valid(vec_valid), .m_ready(vec_ready), .m_data(vec_data),
        .m_last(reader_m_last_unused), .sts_open(vec_open), .sts_bad(reader_bad)
    );

    // Gate vectors of the words to come; credits keep room for all that were asked for.
    wire             walk_valid;
    wire [19:0]      walk_addr;
    wire [11:0]      walk_y0;
    wire [11:0]      walk_x0;
    wire [15:0]      walk_chan;
    wire             room;
    wire             gate_valid;
    wire             gate_ready;
    wire [LANES-1:0] gate_data;
    wire             ask  = m_gate_valid && m_gate_ready;
    wire             used = gate_valid && gate_ready;

    wire gate_last_unused;
    wire [1:0] last_group_unused;
    gc_vector_walker u_gate_walker (
        .clk(clk), .rst(rst), .start(start && (scale || softmax)),
        .cfg_upsample(upsample), .cfg_fold(fold),
        .cfg_n_b(n_b), .cfg_n_y(n_y), .cfg_n_x(n_x), .cfg_n_c(n_c),
        .cfg_base(gate_base),
        .cfg_stride_b(stride_b), .cfg_stride_y(stride_y), .cfg_stride_x(stride_x),
        .cfg_stride_qy(stride_qy), .cfg_stride_qx(stride_qx),
        .m_valid(walk_valid), .m_ready(m_gate_ready && room),
        .m_addr(walk_addr), .m_y0(walk_y0), .m_x0(walk_x0), .m_chan(walk_chan),
        .m_last_group(last_group_unused[0]), .m_last(gate_last_unused)
    );
    gc_natural_access #(.ACCESS_W(ACCESS_W)) u_gate_access (
        .s_addr(walk_addr), .s_y0(walk_y0), .s_x0(walk_x0), .s_chan(walk_chan),
        .s_fold(fold), .s_rot_y(rot_y), .s_rot_x(rot_x), .s_height(12'hfff), .s_width(12'hfff),
        .m_access(m_gate_access)
    );
    assign m_gate_valid = walk_valid && room;

    wire [$clog2(GATE_CREDIT):0] free_unused;
    gc_credit_counter #(.CREDITS(GATE_CREDIT)) u_credit (
        .clk(clk), .rst(rst),
        .s_take(ask), .s_give(used),
        .m_any(room), .sts_free(free_unused)
    );

    wire gates_ready_unused;
    wire [$clog2(GATE_CREDIT):0] gates_level_unused;
    gc_stream_fifo #(.WIDTH(LANES), .DEPTH(GATE_CREDIT)) u_gates (
        .clk(clk), .rst(rst),
        .s_valid(s_gate_valid), .s_ready(gates_ready_unused), .s_data(s_gate_data),
        .m_valid(gate_valid), .m_ready(gate_ready), .m_data(gate_data),
        .sts_level(gates_level_unused)
    );

    // Softmax, one of the ways to the buffer. Its maps have one pixel.
    wire               delta_valid, take_z, take_target, softmax_busy;
    wire               up_ready, up_gate_ready;
    wire [LANES*DW-1:0] delta;
    generate if (HAS_SOFTMAX != 0) begin : g_softmax
        wire [LANES-1:0]   pixel, image;
        reg  [LANES-1:0]   pixel_q, image_q, kept_q;     // stable long before the first vector
        gc_lane_mask #(.GRID(GRID)) u_mask (
            .s_fold(fold), .s_images(n_valid),
            .s_y0(12'd0), .s_x0(12'd0), .s_height(12'd1), .s_width(12'd1),
            .m_inside(pixel), .m_image(image)
        );
        always @(posedge clk) begin
            pixel_q <= pixel;
            image_q <= image;
            kept_q  <= pixel_q & image_q;
        end
        gc_softmax #(.LANES(LANES), .DW(DW)) u_softmax (
            .clk(clk), .rst(rst), .start(start && softmax),
            .cfg_vectors(n_c), .cfg_classes(classes), .cfg_kept(kept_q), .cfg_u_shift(u_shift),
            .cfg_loss_shift(loss_shift), .s_clear(s_clear),
            .s_valid(vec_valid && softmax), .s_ready(take_z), .s_data(vec_data),
            .s_gate_valid(gate_valid), .s_gate_ready(take_target), .s_gate(gate_data),
            .m_valid(delta_valid), .m_ready(up_ready && softmax), .m_data(delta),
            .sts_saturated(sts_saturated), .sts_busy(softmax_busy), .sts_loss(sts_loss)
        );
    end else begin : g_no_softmax
        assign {delta_valid, take_z, take_target, softmax_busy, sts_saturated} = 5'd0;
        assign delta    = {LANES*DW{1'b0}};
        assign sts_loss = 64'd0;
        wire _unused = &{1'b0, asked, s_clear, n_valid, u_shift, loss_shift, classes};
    end endgenerate
    assign vec_ready  = softmax ? take_z : up_ready;
    assign gate_ready = softmax ? take_target : up_gate_ready;

    // Up-sampling and scaling, joined with the place of each word.
    wire                up_valid;
    wire                up_full;
    wire                place_valid;
    wire                place_last;
    wire [19:0]         place_addr;
    wire [11:0]         place_y0;
    wire [11:0]         place_x0;
    wire [15:0]         place_chan;
    reg  [2:0]          target_q;         // long before the first write
    reg  [19:0]         beside_q;         // from a word to the gate that is derived from it: the strides are the same
    wire                wr_ready = &(m_wr_ready | ~target_q);
    always @(posedge clk) begin
        target_q <= {buffer[1] || derive, buffer == 2'd1, buffer == 2'd0};
        beside_q <= derive ? gate_base - {4'd0, base} : 20'd0;
    end

    gc_upsample #(.GRID(GRID), .DW(DW)) u_upsample (
        .clk(clk), .rst(rst),
        .cfg_upsample(upsample), .cfg_scale(scale), .cfg_pool_bit(pool_bit),
        .s_valid(softmax ? delta_valid : vec_valid), .s_ready(up_ready),
        .s_data(vec_data), .s_plain(softmax ? delta : vec_data),
        .s_gate_valid(gate_valid && !softmax), .s_gate_ready(up_gate_ready), .s_gate(gate_data),
        .m_valid(up_valid), .m_ready(place_valid && wr_ready), .m_data(m_wr_data),
        .sts_full(up_full)
    );

    gc_vector_walker u_walker (
        .clk(clk), .rst(rst), .start(start),
        .cfg_upsample(upsample), .cfg_fold(fold),
        .cfg_n_b(n_b), .cfg_n_y(n_y), .cfg_n_x(n_x), .cfg_n_c(n_c),
        .cfg_base(buffer[1] ? gate_base : {4'd0, base}),   // buffer 2 is the gate buffer
        .cfg_stride_b(stride_b), .cfg_stride_y(stride_y), .cfg_stride_x(stride_x),
        .cfg_stride_qy(stride_qy), .cfg_stride_qx(stride_qx),
        .m_valid(place_valid), .m_ready(up_valid && wr_ready),
        .m_addr(place_addr), .m_y0(place_y0), .m_x0(place_x0), .m_chan(place_chan),
        .m_last_group(last_group_unused[1]), .m_last(place_last)
    );
    gc_natural_access #(.ACCESS_W(ACCESS_W)) u_access (
        .s_addr(place_addr), .s_y0(place_y0), .s_x0(place_x0), .s_chan(place_chan),
        .s_fold(fold), .s_rot_y(rot_y), .s_rot_x(rot_x), .s_height(12'hfff), .s_width(12'hfff),
        .m_access(m_wr_access)
    );
    gc_natural_access #(.ACCESS_W(ACCESS_W)) u_wr_gate_access (
        .s_addr(place_addr + beside_q), .s_y0(place_y0), .s_x0(place_x0), .s_chan(place_chan),
        .s_fold(fold), .s_rot_y(rot_y), .s_rot_x(rot_x), .s_height(12'hfff), .s_width(12'hfff),
        .m_access(m_wr_gate_access)
    );

    genvar i;
    generate
        for (i = 0; i < LANES; i = i + 1) begin : g_gate
            wire [DW-1:0] word = m_wr_data[i*DW +: DW];
            assign m_wr_gate[i] = derive ? !word[DW-1] && |word : word[0];
        end
    endgenerate
    wire write = up_valid && place_valid && wr_ready;   // a word, in all its buffers
    wire last  = write && place_last;
    assign m_wr_valid = target_q & {3{write}};

    // Every word has its place and every place its word.
    always @(posedge clk) begin
        m_done <= last;
        m_bad  <= reader_bad || (last && (vec_open || up_full))
               || (place_valid && !vec_open && !up_valid && !softmax_busy);
        if (rst) {m_done, m_bad} <= 2'b00;
    end

    wire _unused = &{1'b0, last_group_unused, reader_m_last_unused, gate_last_unused, free_unused, gates_ready_unused,
                     gates_level_unused};
endmodule

`default_nettype wire
