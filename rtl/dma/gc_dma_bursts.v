// SPDX-License-Identifier: Apache-2.0
// Cuts a strided transfer into bursts: n2 times n1 runs of run_beats contiguous beats, the runs stride1 bytes apart,
// the groups stride2; a burst never crosses 4 KiB and has at most MAX_BURST beats. One burst every two cycles. A
// descriptor with run_beats, n1 or n2 of zero is a transfer of nothing: it is taken and gives no burst. Addresses and
// strides are multiples of a beat. m_last marks the last burst of a descriptor. The next descriptor is taken from the
// cycle on in which that burst is shown.
// The two cycles of a burst: in the first its length, known from the cycle before, goes out, and the low bits of the
// address and of the beats that are left move on; in the second their carries follow, or the next run begins, and the
// next length is measured. Sums of whole addresses are ready before they are needed.
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
    output reg               m_last,
    output wire [8:0]        m_next_beats    // of the burst that is shown in the next cycle, if one is
);
    localparam BEAT_LOG = $clog2(MEM_W/8);
    localparam PAGE_LOG = 12 - BEAT_LOG;           // log2 of the beats in 4 KiB
    localparam LIMIT_LOG = $clog2(MAX_BURST);
    localparam CAP_LOG = LIMIT_LOG < PAGE_LOG ? LIMIT_LOG : PAGE_LOG;   // log2 of the beats of the longest burst
    localparam CAP_BEATS = 1 << CAP_LOG;
    localparam [CAP_LOG:0] CAP = CAP_BEATS[CAP_LOG:0];
    localparam PAGES_W = ADDR_W - 12;
    localparam [15:0] ONE = 16'd1;

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

    // What comes next: more of this run, a run, a group, a descriptor.
    localparam [1:0] ON = 2'd0, RUN = 2'd1, GROUP = 2'd2, NEW = 2'd3;

    reg              busy_q;
    reg              issued_q;     // the cycle after an issue
    reg [1:0]        next_q;
    reg [ADDR_W-1:0] addr_q;       // of the next burst; its pages without carry_q
    reg              carry_q;      // into the pages of addr_q
    reg [ADDR_W-1:0] run_q;        // start of this run
    reg [ADDR_W-1:0] group_q;      // start of this group of runs
    reg [31:0]       left_q;       // beats left in the run; the upper half without borrow_q
    reg              borrow_q;
    reg              left_none_q;  // the upper half of left_q is zero
    reg [31:0]       run_beats_q;
    reg              run_many_q;   // more beats than two of the longest bursts
    reg [15:0]       n1_q;
    reg [15:0]       left1_q;
    reg [15:0]       left2_q;
    reg              last1_q;      // left1_q is one
    reg              last2_q;
    reg [31:0]       stride1_q;
    reg [31:0]       stride2_q;
    reg [CAP_LOG:0]  beats_q;      // of the next burst
    reg              run_end_q;    // it ends the run

    wire nothing = ~(|s_run_beats) || ~(|s_n1) || ~(|s_n2);
    wire accept  = s_valid && s_ready;
    wire issue   = busy_q && !m_valid;

    wire [ADDR_W-1:0]  run_next;
    wire [ADDR_W-1:0]  group_next;
    wire [PAGES_W-1:0] pages_next;
    gc_split_add #(.W(ADDR_W), .LOW(ADDR_W/2)) u_run (
        .clk(clk), .s_a(run_q), .s_b({{(ADDR_W-32){1'b0}}, stride1_q}), .m_sum(run_next)
    );
    gc_split_add #(.W(ADDR_W), .LOW(ADDR_W/2)) u_group (
        .clk(clk), .s_a(group_q), .s_b({{(ADDR_W-32){1'b0}}, stride2_q}), .m_sum(group_next)
    );
    gc_split_add #(.W(PAGES_W), .LOW(PAGES_W/2)) u_pages (
        .clk(clk), .s_a(addr_q[ADDR_W-1:12]), .s_b({{(PAGES_W-1){1'b0}}, 1'b1}), .m_sum(pages_next)
    );

    // The length of the burst that comes next: of a new descriptor, group or run, or of this run.
    wire [PAGE_LOG-1:0] offset = next_q == NEW   ? s_addr[11:BEAT_LOG]
                               : next_q == GROUP ? group_next[11:BEAT_LOG]
                               : next_q == RUN   ? run_next[11:BEAT_LOG] : addr_q[11:BEAT_LOG];
    wire [CAP_LOG:0]    low    = next_q == NEW ? s_run_beats[CAP_LOG:0]
                               : next_q != ON ? run_beats_q[CAP_LOG:0] : left_q[CAP_LOG:0];
    wire                s_many = |s_run_beats[31:CAP_LOG+1];
    // A lower half from which was borrowed is large.
    wire                left_many = |left_q[15:CAP_LOG+1] || !left_none_q;
    wire                many  = next_q == NEW ? s_many : next_q != ON ? run_many_q : left_many;
    wire [CAP_LOG:0]    room;
    wire                run_end = !many && low <= room;

    generate
        if (CAP_LOG == 0) begin : g_single
            assign room = CAP;
            wire _unused = &{1'b0, offset};
        end else if (CAP_LOG == PAGE_LOG) begin : g_page
            assign room = CAP - {1'b0, offset};
        end else begin : g_limit
            // Only in the last part of a page is there less room than the longest burst takes.
            assign room = &offset[PAGE_LOG-1:CAP_LOG] ? CAP - {1'b0, offset[CAP_LOG-1:0]} : CAP;
        end
    endgenerate

    wire [PAGE_LOG:0]  offset_on = {1'b0, addr_q[11:BEAT_LOG]} + {{(PAGE_LOG-CAP_LOG){1'b0}}, beats_q};
    wire [16:0]        left_on   = {1'b0, left_q[15:0]} - {{(16-CAP_LOG){1'b0}}, beats_q};
    wire [CAP_LOG:0]   len       = beats_q - {{CAP_LOG{1'b0}}, 1'b1};
    wire [8+CAP_LOG:0] len_wide  = {8'd0, len};
    wire [8+CAP_LOG:0] beats_wide = {8'd0, beats_q};
    assign m_next_beats = issue ? beats_wide[8:0] : {1'b0, m_len} + 9'd1;

    assign s_ready = !busy_q;

    always @(posedge clk) begin
        left_none_q <= ~(|left_q[31:16]);
        run_many_q  <= |run_beats_q[31:CAP_LOG+1];
        last1_q     <= (!busy_q ? s_n1 : left1_q) == 16'd1;
        last2_q     <= (!busy_q ? s_n2 : left2_q) == 16'd1;
        issued_q    <= issue;
        if (!busy_q || issued_q) begin
            beats_q   <= run_end ? low : room;
            run_end_q <= run_end;
        end
        if (accept) begin
            busy_q      <= !nothing;
            if (!nothing) next_q <= ON;
            addr_q      <= s_addr;
            carry_q     <= 1'b0;
            run_q       <= s_addr;
            group_q     <= s_addr;
            left_q      <= s_run_beats;
            borrow_q    <= 1'b0;
            run_beats_q <= s_run_beats;
            n1_q        <= s_n1;
            left1_q     <= s_n1;
            left2_q     <= s_n2;
            stride1_q   <= s_stride1;
            stride2_q   <= s_stride2;
        end else if (issue) begin
            m_addr <= addr_q;
            m_len  <= len_wide[7:0];
            m_last <= run_end_q && last1_q && last2_q;
            {carry_q, addr_q[11:BEAT_LOG]} <= offset_on;
            {borrow_q, left_q[15:0]}       <= left_on;
            if (run_end_q) begin
                next_q  <= !last1_q ? RUN : last2_q ? NEW : GROUP;
                left1_q <= last1_q ? n1_q : left1_q - ONE;
                if (last1_q) begin
                    left2_q <= left2_q - ONE;
                    busy_q  <= !last2_q;
                end
            end
        end else if (issued_q) begin
            if (busy_q) next_q <= ON;
            carry_q  <= 1'b0;
            borrow_q <= 1'b0;
            if (next_q == ON) begin
                if (carry_q)  addr_q[ADDR_W-1:12] <= pages_next;
                if (borrow_q) left_q[31:16]       <= left_q[31:16] - ONE;
            end else begin
                addr_q <= next_q == GROUP ? group_next : run_next;
                run_q  <= next_q == GROUP ? group_next : run_next;
                left_q <= run_beats_q;
                if (next_q == GROUP) group_q <= group_next;
            end
        end
        if (issue)        m_valid <= 1'b1;
        else if (m_ready) m_valid <= 1'b0;
        if (rst) begin
            busy_q   <= 1'b0;
            next_q   <= NEW;
            issued_q <= 1'b0;
            m_valid  <= 1'b0;
        end
    end

    wire _unused = &{1'b0, len_wide, beats_wide};
endmodule

`default_nettype wire
