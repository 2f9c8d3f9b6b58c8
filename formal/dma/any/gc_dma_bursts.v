// SPDX-License-Identifier: Apache-2.0
// Stands for gc_dma_bursts in the proofs of its users: any bursts that obey what gc_dma_bursts_props.v proves, at any
// time.
`default_nettype none

module gc_dma_bursts #(
    parameter ADDR_W    = 48,
    parameter MEM_W     = 512,
    parameter MAX_BURST = 64
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              s_valid,
    output wire              s_ready,
    input  wire [ADDR_W-1:0] s_addr,
    input  wire [31:0]       s_run_beats,
    input  wire [15:0]       s_n1,
    input  wire [31:0]       s_stride1,
    input  wire [15:0]       s_n2,
    input  wire [31:0]       s_stride2,
    output wire              m_valid,
    input  wire              m_ready,
    output wire [ADDR_W-1:0] m_addr,
    output wire [7:0]        m_len,
    output wire              m_last,
    output wire [8:0]        m_next_beats
);
    (* anyseq *) wire              valid;
    (* anyseq *) wire [ADDR_W-1:0] addr;
    (* anyseq *) wire [7:0]        len;
    (* anyseq *) wire              last;
    (* anyseq *) wire [8:0]        next_beats;
    reg [8:0] promised_q;
    reg       taken_q;
    reg  open_q;      // a descriptor whose last burst has not been shown
    reg  shown_q;
    wire fresh   = m_valid && !shown_q;
    wire nothing = s_run_beats == 0 || s_n1 == 0 || s_n2 == 0;

    assign s_ready = !open_q || (fresh && m_last);
    assign {m_valid, m_addr, m_len, m_last, m_next_beats} = {valid, addr, len, last, next_beats};

    always @(posedge clk) begin
        shown_q <= m_valid && !m_ready;
        taken_q <= m_valid && m_ready;
        promised_q <= m_next_beats;
        open_q  <= s_valid && s_ready ? !nothing : open_q && !(fresh && m_last);
        if (rst) begin
            open_q  <= 1'b0;
            shown_q <= 1'b0;
            taken_q <= 1'b0;
        end
    end

    gc_request_rules #(.ADDR_W(ADDR_W), .BEAT(MEM_W/8), .ASSUME(1)) u_request (
        .clk(clk), .rst(rst), .started(1'b1), .valid(m_valid), .ready(m_ready), .addr(m_addr), .len(m_len)
    );
    gc_stream_rules #(.W(1), .ASSUME(1)) u_last (.clk(clk), .rst(rst), .valid(m_valid), .ready(m_ready), .data(m_last));
    always @* assume (!m_valid || (!taken_q && promised_q == m_len + 9'd1));
    always @* assume (!m_valid || (m_len < MAX_BURST && (shown_q || open_q)));
endmodule

`default_nettype wire
