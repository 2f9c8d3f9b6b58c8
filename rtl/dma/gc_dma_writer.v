// SPDX-License-Identifier: Apache-2.0
// Writes a stream of beats to strided transfers on the native memory port. A burst is only requested once all its
// beats are in the FIFO, so a slow source never holds the port. m_done pulses when the memory has confirmed the last
// burst of a descriptor (a transfer of nothing: the cycle after it was taken); the next descriptor is taken after
// that. sts_starved: a burst lacks beats; sts_empty: none are inside. Rules of the transfer: gc_dma_bursts.
`default_nettype none

module gc_dma_writer #(
    parameter ADDR_W    = 48,
    parameter MEM_W     = 512,
    parameter MAX_BURST = 32,    // beats, at most DEPTH
    parameter DEPTH     = MAX_BURST > 32 ? 2*MAX_BURST : 64    // beats, power of two
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               s_desc_valid,
    output wire               s_desc_ready,
    input  wire [ADDR_W-1:0]  s_addr,
    input  wire [31:0]        s_run_beats,
    input  wire [15:0]        s_n1,
    input  wire [31:0]        s_stride1,
    input  wire [15:0]        s_n2,
    input  wire [31:0]        s_stride2,
    input  wire               s_valid,
    output wire               s_ready,
    input  wire [MEM_W-1:0]   s_data,
    input  wire [MEM_W/8-1:0] s_strb,
    output reg                m_done,
    output wire               sts_starved,
    output wire               sts_empty,
    output wire               m_wreq_valid,
    input  wire               m_wreq_ready,
    output wire [ADDR_W-1:0]  m_wreq_addr,
    output wire [7:0]         m_wreq_len,
    output wire               m_wdat_valid,
    input  wire               m_wdat_ready,
    output wire [MEM_W-1:0]   m_wdat_data,
    output wire [MEM_W/8-1:0] m_wdat_strb,
    output wire               m_wdat_last,
    input  wire               s_wrsp_valid
);
    generate
        if (DEPTH > 32768) begin : g_illegal_size
            gradcore_illegal_parameter_DEPTH_above_32768 u_stop ();
        end
        if (MAX_BURST > DEPTH) begin : g_illegal_depth
            gradcore_illegal_parameter_MAX_BURST_above_DEPTH u_stop ();
        end
    endgenerate

    localparam LW = $clog2(DEPTH) + 1;

    reg           open_q;        // a descriptor is being worked on
    reg           last_sent_q;   // its last burst has been requested
    reg           data_q;        // the beats of a requested burst are leaving
    reg [8:0]     beats_q;       // how many of them are left, while they leave
    reg [15:0]    waiting_q;     // bursts without response; one is counted a cycle after its request
    reg           request_q;

    wire          bursts_ready;
    wire          burst_valid;
    wire          burst_last;
    wire          word_valid;
    wire [LW-1:0] level;
    wire          nothing = ~(|s_run_beats) || ~(|s_n1) || ~(|s_n2);
    wire          accept  = s_desc_valid && s_desc_ready;
    wire [8:0]    next_beats;
    wire          stored;        // the beats of the burst that is shown have come
    wire          push    = s_valid && s_ready;
    wire          pop     = word_valid && data_q && m_wdat_ready;
    wire          request = m_wreq_valid && m_wreq_ready;
    wire          beat    = m_wdat_valid && m_wdat_ready;

    assign s_desc_ready = !open_q && bursts_ready;
    assign sts_starved  = burst_valid && !stored && !data_q;
    assign sts_empty    = ~(|level);

    gc_dma_bursts #(.ADDR_W(ADDR_W), .MEM_W(MEM_W), .MAX_BURST(MAX_BURST)) u_bursts (
        .clk(clk), .rst(rst),
        .s_valid(s_desc_valid && !open_q), .s_ready(bursts_ready), .s_addr(s_addr),
        .s_run_beats(s_run_beats),
        .s_n1(s_n1),
        .s_stride1(s_stride1),
        .s_n2(s_n2),
        .s_stride2(s_stride2),
        .m_valid(burst_valid), .m_ready(m_wreq_ready && stored && !data_q), .m_addr(m_wreq_addr), .m_len(m_wreq_len),
        .m_last(burst_last), .m_next_beats(next_beats)
    );
    assign m_wreq_valid = burst_valid && stored && !data_q;
    gc_burst_stored #(.LW(LW)) u_stored (
        .clk(clk), .s_level(level), .s_beats(next_beats), .s_push(push), .s_pop(pop), .m_stored(stored)
    );

    gc_stream_fifo #(.WIDTH(MEM_W + MEM_W/8), .DEPTH(DEPTH)) u_beats (
        .clk(clk), .rst(rst), .s_valid(s_valid), .s_ready(s_ready), .s_data({s_strb, s_data}),
        .m_valid(word_valid), .m_ready(data_q && m_wdat_ready), .m_data({m_wdat_strb, m_wdat_data}), .sts_level(level)
    );
    assign m_wdat_valid = data_q && word_valid;
    assign m_wdat_last  = beats_q == 9'd1;

    wire finished = open_q && last_sent_q && !data_q && ~(|waiting_q);

    always @(posedge clk) begin
        if (accept)        open_q <= !nothing;
        else if (finished) open_q <= 1'b0;
        if (accept)                     last_sent_q <= 1'b0;
        else if (request && burst_last) last_sent_q <= 1'b1;
        if (request)   data_q <= 1'b1;
        else if (beat) data_q <= !m_wdat_last;
        // Of the burst that is shown, whether it is taken or not.
        if (!data_q)   beats_q <= {1'b0, m_wreq_len} + 9'd1;
        else if (beat) beats_q <= beats_q - 9'd1;
        request_q <= request;
        waiting_q <= waiting_q + {15'd0, request_q} - {15'd0, s_wrsp_valid};
        m_done    <= finished || (accept && nothing);
        if (rst) begin
            open_q    <= 1'b0;
            data_q    <= 1'b0;
            request_q <= 1'b0;
            waiting_q <= 16'd0;
            m_done    <= 1'b0;
        end
    end
endmodule

`default_nettype wire
