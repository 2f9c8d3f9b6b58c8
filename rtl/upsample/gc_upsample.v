// SPDX-License-Identifier: Apache-2.0
// Up-samples pooled vectors on their way to a buffer and scales them by the gate: a pooled vector becomes four, in
// the order (qy, qx) = (0,0), (0,1), (1,0), (1,1), and lanes with a zero gate bit become zero. One output word per
// cycle, 1 cycle latency; both inputs and the output follow the stream rules, ready is registered on each side. What
// goes on without up-sampling has an input of its own: it has more time than the lanes that are spread. The
// configuration is sampled with every output word, so it may change once the last word of a frame has been taken.
// On whole maps the result is gradcore.ops.max_pooling.upsample times the gate.
`default_nettype none

module gc_upsample #(
    parameter GRID = 8,  // 4 or 8
    parameter DW   = 16  // bits of an element, 8..16
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    cfg_upsample,  // 0: one word out for a word in, lanes as they are
    input  wire                    cfg_scale,     // take one gate word for every output word
    input  wire [1:0]              cfg_pool_bit,  // below log2 GRID
    input  wire                    s_valid,
    output wire                    s_ready,
    input  wire [GRID*GRID*DW-1:0] s_data,        // with cfg_upsample
    input  wire [GRID*GRID*DW-1:0] s_plain,       // in its place without; the same word, or one chosen late
    input  wire                    s_gate_valid,
    output wire                    s_gate_ready,
    input  wire [GRID*GRID-1:0]    s_gate,
    output wire                    m_valid,
    input  wire                    m_ready,
    output wire [GRID*GRID*DW-1:0] m_data,
    output wire                    sts_full       // another word stands behind m_data
);
    localparam LANES = GRID * GRID;

    generate
        if (GRID != 4 && GRID != 8) begin : g_illegal_grid
            gradcore_illegal_parameter_GRID_not_4_or_8 u_stop ();
        end
        if (DW < 8 || DW > 16) begin : g_illegal_dw
            gradcore_illegal_parameter_DW_outside_8_to_16 u_stop ();
        end
    endgenerate

    wire             gate_valid;
    wire             gate_ready;
    wire [LANES-1:0] gate;

    gc_stream_register #(.WIDTH(LANES)) u_gate (
        .clk     (clk),
        .rst     (rst),
        .s_valid (s_gate_valid),
        .s_ready (s_gate_ready),
        .s_data  (s_gate),
        .m_valid (gate_valid),
        .m_ready (gate_ready),
        .m_data  (gate)
    );

    wire [LANES*DW-1:0] spread;
    wire [LANES*DW-1:0] scaled;

    reg [1:0] q_q;  // (qy, qx) of the next output word

    gc_upsample_spread #(.GRID(GRID), .DW(DW)) u_spread (
        .s_choice_y ({cfg_pool_bit, q_q[1]}),
        .s_choice_x ({cfg_pool_bit, q_q[0]}),
        .s_data     (s_data),
        .m_data     (spread)
    );

    genvar l;
    generate
        for (l = 0; l < LANES; l = l + 1) begin : g_lane
            wire [DW-1:0] word = cfg_upsample ? spread[l*DW +: DW] : s_plain[l*DW +: DW];
            assign scaled[l*DW +: DW] = word & {DW{gate[l] | ~cfg_scale}};
        end
    endgenerate

    // The input word is not copied: it waits at s_data until its last output word has been formed.
    wire out_ready;
    wire gate_here = gate_valid | ~cfg_scale;
    wire out_valid = s_valid & gate_here;
    wire last      = &q_q | ~cfg_upsample;

    assign sts_full   = ~out_ready;
    assign s_ready    = out_ready & gate_here & last;
    assign gate_ready = out_ready & s_valid & cfg_scale;

    gc_stream_register #(.WIDTH(LANES*DW)) u_out (
        .clk     (clk),
        .rst     (rst),
        .s_valid (out_valid),
        .s_ready (out_ready),
        .s_data  (scaled),
        .m_valid (m_valid),
        .m_ready (m_ready),
        .m_data  (m_data)
    );

    always @(posedge clk) begin
        if (out_valid && out_ready && cfg_upsample) q_q <= q_q + 2'd1;
        if (rst) q_q <= 2'd0;
    end
endmodule

`default_nettype wire
