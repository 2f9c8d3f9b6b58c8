// SPDX-License-Identifier: Apache-2.0
// Cuts a strided transfer into bursts: n2 times n1 runs of run_beats contiguous beats, the runs stride1 bytes apart,
// the groups stride2; a burst never crosses 4 KiB and has at most MAX_BURST beats. One burst every two cycles. A
// descriptor with run_beats, n1 or n2 of zero is a transfer of nothing: it is taken and gives no burst. Addresses and
// strides are multiples of a beat. m_last marks the last burst of a descriptor. The next descriptor is taken from the
// cycle on in which that burst is shown.
`default_nettype none

module gc_dma_bursts #(
    parameter ADDR_W    = 48,
    parameter MEM_W     = 512,   // bits of a beat
    parameter MAX_BURST = 64     // beats, power of two
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
    output reg               m_valid,
    input  wire              m_ready,
    output reg  [ADDR_W-1:0] m_addr,
    output reg  [7:0]        m_len,      // beats - 1
    output reg               m_last
);
    localparam BEAT_LOG = $clog2(MEM_W/8);
    localparam PAGE_LOG = 12 - BEAT_LOG;           // log2 of the beats in 4 KiB
    localparam [PAGE_LOG:0] PAGE  = 1 << PAGE_LOG;
    localparam [31:0]       LIMIT = MAX_BURST[31:0];

    generate
        if (ADDR_W < 32 || ADDR_W > 64) begin : g_illegal_addr_w
            gradcore_illegal_parameter_ADDR_W_must_be_32_to_64 u_stop ();
        end
        if (MEM_W < 64 || MEM_W > 512 || (MEM_W & (MEM_W-1)) != 0) begin : g_illegal_mem_w
            gradcore_illegal_parameter_MEM_W_must_be_a_power_of_two_from_64_to_512 u_stop ();
        end
        if (MAX_BURST < 1 || MAX_BURST > 256 || (MAX_BURST & (MAX_BURST-1)) != 0) begin : g_illegal_burst
            gradcore_illegal_parameter_MAX_BURST_must_be_a_power_of_two_up_to_256 u_stop ();
        end
    endgenerate

    reg              busy_q;
    reg [ADDR_W-1:0] addr_q;       // of the next burst
    reg [ADDR_W-1:0] run_q;        // start of this run
    reg [ADDR_W-1:0] group_q;      // start of this group of runs
    reg [31:0]       left_q;       // beats left in the run
    reg [31:0]       run_beats_q;
    reg [15:0]       n1_q;
    reg [15:0]       left1_q;
    reg [15:0]       left2_q;
    reg [31:0]       stride1_q;
    reg [31:0]       stride2_q;

    wire               nothing  = ~(|s_run_beats) || ~(|s_n1) || ~(|s_n2);
    wire [PAGE_LOG:0]  to_edge  = PAGE - {1'b0, addr_q[11:BEAT_LOG]};
    wire [31:0]        edge_32  = {{(31-PAGE_LOG){1'b0}}, to_edge};
    wire [31:0]        capped   = left_q < LIMIT ? left_q : LIMIT;
    wire [31:0]        beats    = capped < edge_32 ? capped : edge_32;
    wire               run_end  = beats == left_q;
    wire [31:0]        len      = beats - 32'd1;
    wire [ADDR_W-1:0]  next_run   = run_q + {{(ADDR_W-32){1'b0}}, stride1_q};
    wire [ADDR_W-1:0]  next_group = group_q + {{(ADDR_W-32){1'b0}}, stride2_q};
    wire               issue    = busy_q && !m_valid;

    assign s_ready = !busy_q;

    always @(posedge clk) begin
        if (s_valid && s_ready) begin
            busy_q      <= !nothing;
            addr_q      <= s_addr;
            run_q       <= s_addr;
            group_q     <= s_addr;
            left_q      <= s_run_beats;
            run_beats_q <= s_run_beats;
            n1_q        <= s_n1;
            left1_q     <= s_n1;
            left2_q     <= s_n2;
            stride1_q   <= s_stride1;
            stride2_q   <= s_stride2;
        end else if (issue) begin
            m_addr <= addr_q;
            m_len  <= len[7:0];
            m_last <= run_end && left1_q == 16'd1 && left2_q == 16'd1;
            if (!run_end) begin
                addr_q <= addr_q + {{(ADDR_W-32){1'b0}}, beats << BEAT_LOG};
                left_q <= left_q - beats;
            end else begin
                left_q <= run_beats_q;
                if (left1_q != 16'd1) begin
                    left1_q <= left1_q - 16'd1;
                    addr_q  <= next_run;
                    run_q   <= next_run;
                end else begin
                    left1_q <= n1_q;
                    left2_q <= left2_q - 16'd1;
                    addr_q  <= next_group;
                    run_q   <= next_group;
                    group_q <= next_group;
                    busy_q  <= left2_q != 16'd1;
                end
            end
        end
        if (issue)        m_valid <= 1'b1;
        else if (m_ready) m_valid <= 1'b0;
        if (rst) begin
            busy_q  <= 1'b0;
            m_valid <= 1'b0;
        end
    end

    wire _unused = &{1'b0, len[31:8]};
endmodule

`default_nettype wire
