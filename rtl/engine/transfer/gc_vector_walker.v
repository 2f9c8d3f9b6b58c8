// SPDX-License-Identifier: Apache-2.0
// Walks over the vectors of a stored tensor in memory order (doc/instructions.md, "LOAD and STORE"): loops b, y, x, c
// and, with upsample, qy, qx inside. Gives one natural access of an operand buffer per word: its address, block origin
// and channel. `start` begins a walk with a stable configuration; a word every cycle that m_ready allows, the first in
// the cycle after start; m_last marks the end of the walk, m_last_group the words of the last image group.
`default_nettype none

module gc_vector_walker (
    input  wire           clk,
    input  wire           rst,
    input  wire           start,
    input  wire           cfg_upsample,
    input  wire [1:0]     cfg_fold,       // storage fold
    input  wire [15:0]    cfg_n_b,
    input  wire [15:0]    cfg_n_y,
    input  wire [15:0]    cfg_n_x,
    input  wire [15:0]    cfg_n_c,
    input  wire [19:0]    cfg_base,
    input  wire [15:0]    cfg_stride_b,
    input  wire [15:0]    cfg_stride_y,
    input  wire [15:0]    cfg_stride_x,
    input  wire [15:0]    cfg_stride_qy,
    input  wire [15:0]    cfg_stride_qx,
    output reg            m_valid,
    input  wire           m_ready,
    output wire [19:0]    m_addr,
    output wire [11:0]    m_y0,
    output wire [11:0]    m_x0,
    output wire [15:0]    m_chan,
    output wire           m_last_group,
    output wire           m_last
);
    wire [15:0] n_q  = cfg_upsample ? 16'd2 : 16'd1;
    wire        step = m_valid && m_ready;

    wire [5:0]    advance;
    wire [5:0]    restart;
    wire [6*16-1:0] index;

    wire [5:0] loops_at_first_unused;
    wire [5:0] at_last;
    gc_loop_nest #(.LEVELS(6), .W(16)) u_loops (
        .clk(clk),
        .cfg_count({n_q, n_q, cfg_n_c, cfg_n_x, cfg_n_y, cfg_n_b}),
        .s_single(6'd0), .s_two(6'd0),
        .start(start),
        .step(step),
        .advance(advance),
        .restart(restart),
        .at_first(loops_at_first_unused),
        .at_last(at_last),
        .last(m_last),
        .index(index)
    );

    // A step takes the loop that it advances to its next address, and all loops inside it begin there. The sums wait
    // for no step, and the address comes from a register.
    wire [6*16-1:0] stride = {cfg_stride_qx, cfg_stride_qy, 16'd1, cfg_stride_x, cfg_stride_y, cfg_stride_b};
    wire [6*20-1:0] addr;
    wire [6*20-1:0] moved;           // of the loop that advances
    wire [19:0]     next = moved[0 +: 20] | moved[20 +: 20] | moved[40 +: 20] | moved[60 +: 20] | moved[80 +: 20]
                         | moved[100 +: 20];

    genvar l;
    generate
        for (l = 0; l < 6; l = l + 1) begin : g_loop
            wire [19:0] after;
            gc_walker_loop u_loop (
                .clk(clk), .start(start), .s_base(cfg_base), .s_stride(stride[l*16 +: 16]),
                .s_take(step && (advance[l] || restart[l])), .s_next(next),
                .m_addr(addr[l*20 +: 20]), .m_after(after)
            );
            assign moved[l*20 +: 20] = after & {20{advance[l]}};
        end
    endgenerate

    assign m_addr = addr[100 +: 20];
    assign m_y0   = index[1*16 +: 12] << cfg_fold;
    assign m_x0   = index[2*16 +: 12] << cfg_fold;
    assign m_chan = index[3*16 +: 16];
    assign m_last_group = at_last[0];

    always @(posedge clk) begin
        if (start)                m_valid <= 1'b1;
        else if (step && m_last)  m_valid <= 1'b0;
        if (rst)                  m_valid <= 1'b0;
    end

    wire _unused = &{1'b0, addr, index[0 +: 16], index[1*16+12 +: 4], index[2*16+12 +: 4], index[4*16 +: 32],
                     loops_at_first_unused, at_last[5:1]};
endmodule

`default_nettype wire
