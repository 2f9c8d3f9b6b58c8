// SPDX-License-Identifier: Apache-2.0
// Executes LOAD: vectors from DRAM into an operand buffer or the gate buffer, with up-sampling and scaling by gate vectors on
// the way; or into an operand buffer with their gates, which are derived from them, into the gate buffer (doc/instructions.md). One vector per cycle
// at most; the memory port sets the pace. A write waits until the m_wr_ready of all its buffers are high and is then shown to them in one cycle; gate reads wait for
// m_gate_ready; gate vectors come back in order after any time, and room for them is reserved. s_instruction is stable from `start` to m_done, which
// comes when the last write has been taken. m_bad pulses a cycle after it is seen that n_words, the loop counts and the beats do not agree.
`default_nettype none

module gc_load_unit #(
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
    output wire [2:0]              m_wr_valid,   // by buffer: 0, 1 and the gate buffer
    input  wire [2:0]              m_wr_ready,
    output wire [ACCESS_W-1:0]     m_wr_access,
    output wire [GRID*GRID*DW-1:0] m_wr_data,
    output wire [ACCESS_W-1:0]     m_wr_gate_access,
    output wire [GRID*GRID-1:0]    m_wr_gate     // what the gate buffer takes
);
    localparam LANES       = GRID*GRID;
    localparam GATE_CREDIT = 16;

    wire [15:0] h2        = s_instruction[2*16 +: 16];
    wire        upsample  = h2[2];
    wire        scale     = h2[3];
    wire        derive    = h2[11];
    wire        bits      = h2[12];
    wire [2:0]  target    = {h2[1] || derive, ~h2[1] && h2[0], ~(|h2[1:0])};
    wire [1:0]  fold      = h2[5:4];
    wire [19:0] gate_base = s_instruction[27*16 +: 20];
    wire [19:0] base      = h2[1] ? gate_base : {4'd0, s_instruction[18*16 +: 16]};   // buffer 2 is the gate buffer

    // Vectors from DRAM.
    wire                vec_valid;
    wire                vec_ready;
    wire [LANES*DW-1:0] vec_data;
    wire                vec_open;
    wire                reader_bad;
    wire                reader_m_last_unused;
    gc_word_reader #(.LANES(LANES), .DW(DW), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .PACKED(1)) u_reader (
        .clk(clk), .rst(rst), .start(start), .s_instruction(s_instruction), .cfg_packed(bits),
        .cfg_addr(s_instruction[3*16 +: 48]), .cfg_base(cfg_base),
        .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready), .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len),
        .s_rdat_valid(s_rdat_valid), .s_rdat_data(s_rdat_data), .s_rdat_last(s_rdat_last),
        .m_valid(vec_valid), .m_ready(vec_ready), .m_data(vec_data),
        .m_last(reader_m_last_unused), .sts_open(vec_open), .sts_bad(reader_bad)
    );

    // Gate vectors of the words to come; credits keep room for all that were asked for. With derive the walker gives the gate's place of each
    // word as it is written.
    wire             walk_valid;
    wire [19:0]      walk_addr;
    wire [11:0]      walk_y0;
    wire [11:0]      walk_x0;
    wire [15:0]      walk_chan;
    reg  [4:0]       credit_q;
    wire             gate_valid;
    wire             gate_ready;
    wire [LANES-1:0] gate_data;
    wire             ask  = m_gate_valid && m_gate_ready;
    wire             used = gate_valid && gate_ready;
    wire             room = |credit_q;
    wire             write;     // in all buffers of the word

    wire gate_walker_m_last_unused;
    wire [1:0] last_group_unused;
    gc_vector_walker u_gate_walker (
        .clk(clk), .rst(rst), .start(start && (scale || derive)), .cfg_upsample(upsample), .cfg_fold(fold),
        .cfg_n_b(s_instruction[14*16 +: 16]), .cfg_n_y(s_instruction[15*16 +: 16]),
        .cfg_n_x(s_instruction[16*16 +: 16]), .cfg_n_c(s_instruction[17*16 +: 16]),
        .cfg_base(gate_base), .cfg_stride_b(s_instruction[19*16 +: 16]),
        .cfg_stride_y(s_instruction[20*16 +: 16]), .cfg_stride_x(s_instruction[21*16 +: 16]),
        .cfg_stride_qy(s_instruction[22*16 +: 16]), .cfg_stride_qx(s_instruction[23*16 +: 16]),
        .m_valid(walk_valid), .m_ready(derive ? write : m_gate_ready && room),
        .m_addr(walk_addr), .m_y0(walk_y0), .m_x0(walk_x0), .m_chan(walk_chan), .m_last_group(last_group_unused[0]), .m_last(gate_walker_m_last_unused)
    );
    gc_natural_access u_gate_access (.s_addr(walk_addr), .s_y0(walk_y0), .s_x0(walk_x0), .s_chan(walk_chan), .s_fold(fold), .s_height(12'hfff), .s_width(12'hfff), .m_access(m_gate_access));
    assign m_gate_valid = walk_valid && room && !derive;

    always @(posedge clk) begin
        if (ask && !used)      credit_q <= credit_q - 5'd1;
        else if (used && !ask) credit_q <= credit_q + 5'd1;
        if (rst) credit_q <= GATE_CREDIT;
    end

    wire gates_s_ready_unused;
    wire [4:0] gates_sts_level_unused;
    gc_stream_fifo #(.WIDTH(LANES), .DEPTH(GATE_CREDIT)) u_gates (
        .clk(clk), .rst(rst),
        .s_valid(s_gate_valid), .s_ready(gates_s_ready_unused), .s_data(s_gate_data),
        .m_valid(gate_valid), .m_ready(gate_ready), .m_data(gate_data), .sts_level(gates_sts_level_unused)
    );

    // Up-sampling and scaling, joined with the place of each word.
    wire                up_valid;
    wire                up_full;
    wire                place_valid;
    wire                place_last;
    wire [19:0]         place_addr;
    wire [11:0]         place_y0;
    wire [11:0]         place_x0;
    wire [15:0]         place_chan;
    wire                wr_ready = &(m_wr_ready | ~target);

    gc_upsample #(.GRID(GRID), .DW(DW)) u_upsample (
        .clk(clk), .rst(rst), .cfg_upsample(upsample), .cfg_scale(scale), .cfg_pool_bit(h2[7:6]),
        .s_valid(vec_valid), .s_ready(vec_ready), .s_data(vec_data),
        .s_gate_valid(gate_valid), .s_gate_ready(gate_ready), .s_gate(gate_data),
        .m_valid(up_valid), .m_ready(place_valid && wr_ready), .m_data(m_wr_data), .sts_full(up_full)
    );

    gc_vector_walker u_walker (
        .clk(clk), .rst(rst), .start(start), .cfg_upsample(upsample), .cfg_fold(fold),
        .cfg_n_b(s_instruction[14*16 +: 16]), .cfg_n_y(s_instruction[15*16 +: 16]),
        .cfg_n_x(s_instruction[16*16 +: 16]), .cfg_n_c(s_instruction[17*16 +: 16]),
        .cfg_base(base), .cfg_stride_b(s_instruction[19*16 +: 16]),
        .cfg_stride_y(s_instruction[20*16 +: 16]), .cfg_stride_x(s_instruction[21*16 +: 16]),
        .cfg_stride_qy(s_instruction[22*16 +: 16]), .cfg_stride_qx(s_instruction[23*16 +: 16]),
        .m_valid(place_valid), .m_ready(up_valid && wr_ready),
        .m_addr(place_addr), .m_y0(place_y0), .m_x0(place_x0), .m_chan(place_chan), .m_last_group(last_group_unused[1]), .m_last(place_last)
    );
    gc_natural_access u_access (.s_addr(place_addr), .s_y0(place_y0), .s_x0(place_x0), .s_chan(place_chan), .s_fold(fold), .s_height(12'hfff), .s_width(12'hfff), .m_access(m_wr_access));

    gc_natural_access u_wr_gate_access (.s_addr(derive ? walk_addr : place_addr), .s_y0(place_y0), .s_x0(place_x0), .s_chan(place_chan), .s_fold(fold), .s_height(12'hfff), .s_width(12'hfff), .m_access(m_wr_gate_access));

    genvar i;
    generate
        for (i = 0; i < LANES; i = i + 1) begin : g_gate
            wire [DW-1:0] word = m_wr_data[i*DW +: DW];
            assign m_wr_gate[i] = derive ? !word[DW-1] && |word : word[0];
        end
    endgenerate
    assign write      = up_valid && place_valid && wr_ready;
    assign m_wr_valid = target & {3{write}};
    assign m_done     = write && place_last;

    // Every word has its place and every place its word.
    always @(posedge clk) begin
        m_bad <= reader_bad || (m_done && (vec_open || up_full)) || (place_valid && !vec_open && !up_valid);
        if (rst) m_bad <= 1'b0;
    end

    wire _unused = &{1'b0, h2, last_group_unused, reader_m_last_unused, gate_walker_m_last_unused, gates_s_ready_unused, gates_sts_level_unused};
endmodule

`default_nettype wire
