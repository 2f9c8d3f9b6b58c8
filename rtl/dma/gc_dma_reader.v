// SPDX-License-Identifier: Apache-2.0
// Reads strided transfers from the native memory port into a stream of beats. A burst is only requested when the FIFO
// has room for all of it, so read data are never refused; while DEPTH - MAX_BURST covers the memory's latency, the
// stream runs at one beat per cycle. Descriptors follow each other without waiting for data; sts_drained says that
// every beat of all of them has been taken. Rules of the transfer: gc_dma_bursts; of the port: doc/streams.md.
`default_nettype none

module gc_dma_reader #(
    parameter ADDR_W    = 48,
    parameter MEM_W     = 512,
    parameter MAX_BURST = 32,    // beats, at most DEPTH
    parameter DEPTH     = MAX_BURST > 32 ? 4*MAX_BURST : 128   // beats in flight or waiting, power of two up to 512
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
    output wire              m_rreq_valid,
    input  wire              m_rreq_ready,
    output wire [ADDR_W-1:0] m_rreq_addr,
    output wire [7:0]        m_rreq_len,
    input  wire              s_rdat_valid,
    input  wire [MEM_W-1:0]  s_rdat_data,
    output wire              m_valid,
    input  wire              m_ready,
    output wire [MEM_W-1:0]  m_data,
    output wire              sts_drained
);
    localparam [9:0] FULL = DEPTH[9:0];
    localparam [9:0] LESS = FULL - 10'd1;

    generate
        if (DEPTH > 512) begin : g_illegal_size
            gradcore_illegal_parameter_DEPTH_above_512 u_stop ();
        end
        if (MAX_BURST > DEPTH) begin : g_illegal_depth
            gradcore_illegal_parameter_MAX_BURST_above_DEPTH u_stop ();
        end
    endgenerate

    wire          burst_valid;
    wire          burst_ready;
    wire [8:0]    next_beats;
    // Places not promised to a requested beat, without pop_q: free_q, or less_q after a request. That a request is
    // accepted may be known late in a cycle, so it only reaches a register of its own.
    reg  [9:0]    free_q, less_q;
    reg           request_q;
    reg           pop_q;        // a beat has been taken in the cycle before
    // Of what follows from `free` two answers are kept, without and with the beat that was taken in the cycle before.
    // That it is taken may be known late in a cycle: then it is part of no longer path than that of pop_q.
    reg           fits_q, fits_if_q;    // is there room for the burst that is shown?
    reg           full_q, full_if_q;    // is `free` DEPTH?
    wire [9:0]    base    = request_q ? less_q : free_q;
    wire [9:0]    free    = base + {9'd0, pop_q};
    wire          fits    = free >= {1'b0, next_beats};
    wire          fits_if = free + 10'd1 >= {1'b0, next_beats};    // with one more
    wire          pop     = m_valid && m_ready;
    wire          room    = fits_q || (pop_q && fits_if_q);
    wire          full    = !request_q && (full_q || (pop_q && full_if_q));

    wire bursts_m_last_unused;
    gc_dma_bursts #(.ADDR_W(ADDR_W), .MEM_W(MEM_W), .MAX_BURST(MAX_BURST)) u_bursts (
        .clk(clk), .rst(rst),
        .s_valid(s_valid), .s_ready(s_ready), .s_addr(s_addr),
        .s_run_beats(s_run_beats),
        .s_n1(s_n1),
        .s_stride1(s_stride1),
        .s_n2(s_n2),
        .s_stride2(s_stride2),
        .m_valid(burst_valid), .m_ready(burst_ready), .m_addr(m_rreq_addr), .m_len(m_rreq_len),
        .m_last(bursts_m_last_unused), .m_next_beats(next_beats)
    );
    assign m_rreq_valid = burst_valid && room;
    assign burst_ready  = m_rreq_ready && room;
    assign sts_drained  = s_ready && !burst_valid && full;

    always @(posedge clk) begin
        pop_q     <= pop;
        request_q <= m_rreq_valid && m_rreq_ready;
        free_q    <= free;
        less_q    <= base + {2'b11, ~m_rreq_len} + {9'd0, pop_q};    // free - m_rreq_len - 1
        fits_q    <= fits;
        fits_if_q <= fits_if;
        full_q    <= free == FULL;
        full_if_q <= free == LESS;
        if (rst) begin
            pop_q     <= 1'b0;
            request_q <= 1'b0;
            free_q    <= FULL;
            fits_q    <= 1'b0;
            full_q    <= 1'b1;
        end
    end

    wire beats_s_ready_unused;
    wire [$clog2(DEPTH):0] beats_sts_level_unused;
    gc_stream_fifo #(.WIDTH(MEM_W), .DEPTH(DEPTH)) u_beats (
        .clk(clk), .rst(rst), .s_valid(s_rdat_valid), .s_ready(beats_s_ready_unused), .s_data(s_rdat_data),
        .m_valid(m_valid), .m_ready(m_ready), .m_data(m_data), .sts_level(beats_sts_level_unused)
    );

    wire _unused = &{1'b0, bursts_m_last_unused, beats_s_ready_unused, beats_sts_level_unused};
endmodule

`default_nettype wire
