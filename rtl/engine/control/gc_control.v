// SPDX-License-Identifier: Apache-2.0
// The engine's control: register bank, program fetch, the five instruction queues, their gates and the token matrix,
// and the event counters. One instruction can start per unit and cycle. A program is done when END has been reached
// and no unit, queue or drain holds an instruction any more; gc_supervisor ends it before that when something is
// wrong, and resets everything else by core_rst.
`default_nettype none

module gc_control #(
    parameter GRID       = 8,
    parameter COLS       = 16,
    parameter DW         = 16,
    parameter ACC_W      = 48,
    parameter MEM_W      = 512,
    parameter ADDR_W     = 48,
    parameter BURST      = 32,
    parameter ACT_DEPTH  = 2048,
    parameter WGT_DEPTH  = 8192,
    parameter GRAD_DEPTH = 8192,
    parameter GATE_DEPTH = 16384,
    parameter WINDOWS    = 4,
    parameter HAS_VECTOR  = 1,
    parameter HAS_SOFTMAX = 1,
    parameter HAS_FACTOR  = 1
) (
    input  wire                clk,
    input  wire                rst,                // of registers, counters and the state of the program
    input  wire                s_rst,              // of fetch, queues and tokens: after rst and core_rst (gc_resets)
    // registers
    input  wire                s_reg_write,
    input  wire [11:0]         s_reg_addr,
    input  wire [31:0]         s_reg_wdata,
    input  wire [3:0]          s_reg_strb,
    input  wire                s_reg_read,
    output wire [31:0]         m_reg_rdata,
    output wire                irq,
    // memory guard
    output wire [WINDOWS*(2*ADDR_W-22)-1:0] cfg_windows,
    output wire                m_abort,
    output wire                core_rst,
    output wire                m_forget,
    input  wire                s_quiet,
    input  wire [4:0]          s_moves,            // of gc_memory_port
    input  wire [ADDR_W+15:0]  s_fault,
    // buffers
    output wire                m_scrub,            // pulse
    input  wire                s_scrubbing,        // from the cycle after m_scrub until all buffers are clear
    // program fetch
    output wire                m_rreq_valid,
    input  wire                m_rreq_ready,
    output wire [ADDR_W-1:0]   m_rreq_addr,
    output wire [7:0]          m_rreq_len,
    input  wire                s_rdat_valid,
    input  wire [MEM_W-1:0]    s_rdat_data,
    input  wire                s_rdat_last,
    // units: load, wload, compute, store, update
    output wire                m_program_start,
    output wire [4*ADDR_W-1:0] cfg_base,
    output wire [31:0]         cfg_seed,
    output wire [15:0]         cfg_rate,
    output wire [4:0]          m_start,
    output wire [5*1024-1:0]   m_instruction,
    input  wire [4:0]          s_done,
    input  wire [3:0]          s_mismatch,  // load, wload, store, update: lengths differ; at most a cycle after s_done
    input  wire                s_compute_room,
    input  wire                s_read,             // compute has read its operands
    input  wire [4:0]          s_read_signal,
    input  wire                s_written,          // compute's results can be read by whoever starts now
    input  wire [4:0]          s_written_signal,
    // events
    input  wire                s_step,
    input  wire                s_pad,
    input  wire                s_yield,
    input  wire [5:0]          s_saturated,        // act and delta of compute, update, act and delta of store, load
    input  wire                s_overflow,
    input  wire [127:0]        s_loss,             // of LOAD, of COMPUTE
    output wire [4:0]          sts_active,         // an instruction is being executed
    output wire [5*11-1:0]     sts_tag             // and its tag
);
    localparam UNITS     = 5;
    localparam PRODUCERS = 6;
    localparam COMPUTE   = 2;
    localparam COUNTERS  = 52;
    localparam LOADED    = 8;      // cycles from a unit's last write to the first read that may follow
    localparam CLOSED    = 7;      // cycles from s_written until LOSS is complete
    localparam BEAT_LOG  = $clog2(MEM_W/8);
    localparam ACT_LOG   = $clog2(ACT_DEPTH);
    localparam WGT_LOG   = $clog2(WGT_DEPTH);
    localparam GRAD_LOG  = $clog2(GRAD_DEPTH);
    localparam GATE_LOG  = $clog2(GATE_DEPTH);
    localparam [31:0] CONFIG  = {BEAT_LOG[7:0], DW[7:0], COLS[7:0], GRID[7:0]};
    localparam [31:0] CONFIG2 = {GATE_LOG[7:0], GRAD_LOG[7:0], WGT_LOG[7:0], ACT_LOG[7:0]};
    localparam [31:0] CONFIG3 = {13'd0, HAS_FACTOR[0], HAS_SOFTMAX[0], HAS_VECTOR[0], WINDOWS[7:0], ACC_W[7:0]};

    // ---- Registers and program state
    wire              running;
    wire              finished;
    wire              dispatched;
    wire              done;
    wire              failed;
    wire [7:0]        code;
    wire [23:0]       index;
    wire [ADDR_W-1:0] error_addr;
    wire              refused;
    wire [7:0]        refused_code;
    wire [23:0]       next;
    wire              stop;
    wire [31:0]       watchdog;
    wire [31:0]       counter_data;
    wire [ADDR_W-1:0] prog_base;
    wire [23:0]       prog_length;
    wire              start;
    wire              begins;         // the fetch
    wire              preparing;      // start waits for the scrub
    wire              force_bus;
    wire              scrub;
    wire              changed;
    wire              asked;
    wire [ADDR_W-1:0] asked_addr;
    wire              misaligned;
    wire              bus_open;

    wire [63:0] loss;
    gc_loss_total u_loss (.clk(clk), .s_compute(s_loss[63:0]), .s_load(s_loss[127:64]), .m_loss(loss));
    gc_register_bank #(
        .ADDR_W(ADDR_W), .WINDOWS(WINDOWS), .MEM_W(MEM_W), .CONFIG(CONFIG), .CONFIG2(CONFIG2), .CONFIG3(CONFIG3)
    ) u_registers (
        .clk(clk), .rst(rst), .irq(irq),
        .s_reg_write(s_reg_write), .s_reg_addr(s_reg_addr), .s_reg_wdata(s_reg_wdata), .s_reg_strb(s_reg_strb),
        .s_reg_read(s_reg_read), .m_reg_rdata(m_reg_rdata),
        .m_start(start), .m_stop(stop), .m_force(force_bus), .m_scrub(scrub),
        .m_asked(asked), .m_asked_addr(asked_addr), .m_misaligned(misaligned), .m_changed(changed),
        .cfg_prog_base(prog_base), .cfg_prog_length(prog_length), .cfg_base(cfg_base),
        .cfg_seed(cfg_seed), .cfg_rate(cfg_rate), .cfg_watchdog(watchdog), .cfg_windows(cfg_windows),
        .s_busy(running || s_scrubbing), .s_open(bus_open), .s_done(done), .s_failed(failed),
        .s_code(code), .s_index(index), .s_addr(error_addr),
        .s_overflow(s_overflow), .s_loss(loss), .s_counter(counter_data)
    );
    assign m_program_start = start;
    gc_scrub_first u_scrub (
        .clk(clk), .rst(rst), .start(start),
        .s_misaligned(misaligned), .s_abort(m_abort), .s_scrub(scrub), .s_changed(changed), .s_scrubbing(s_scrubbing),
        .m_scrub(m_scrub), .m_begin(begins), .sts_waiting(preparing)
    );
    // ---- Fetch, queues and their gates
    wire [UNITS-1:0]           queue_valid, queue_ready;
    wire                       beat_write;
    wire [$clog2(1024/MEM_W)-1:0] beat_place;
    wire [MEM_W-1:0]           beat;
    wire [23:0]                queue_index;
    wire [UNITS*PRODUCERS-1:0] available;
    wire [UNITS*PRODUCERS-1:0] take;
    wire [UNITS*PRODUCERS-1:0] waits;
    wire [UNITS*5-1:0]         signals;
    wire [UNITS-1:0]           idle, empty;
    wire [UNITS-1:0]           busy;
    wire [UNITS-1:0]           waiting;
    wire [UNITS-1:0]           mismatch = {s_mismatch[3:2], 1'b0, s_mismatch[1:0]};
    // For errors, of the cycle before: nothing fails in its first cycle.
    reg  [UNITS-1:0]           active_q;
    reg  [UNITS-1:0]           waiting_q;
    wire [UNITS*24-1:0]        indices;

    gc_fetch #(
        .GRID(GRID), .COLS(COLS), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST), .WGT_DEPTH(WGT_DEPTH), .UNITS(UNITS),
        .HAS_VECTOR(HAS_VECTOR), .HAS_SOFTMAX(HAS_SOFTMAX), .HAS_FACTOR(HAS_FACTOR)
    ) u_fetch (
        .clk(clk), .rst(s_rst), .start(start), .s_begin(begins),
        .cfg_prog_base(prog_base), .cfg_prog_length(prog_length),
        .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready), .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len),
        .s_rdat_valid(s_rdat_valid), .s_rdat_data(s_rdat_data), .s_rdat_last(s_rdat_last),
        .m_write(beat_write), .m_place(beat_place), .m_beat(beat),
        .m_valid(queue_valid), .m_ready(queue_ready), .m_index(queue_index),
        .sts_finished(dispatched), .sts_error(refused), .sts_code(refused_code), .sts_index(next)
    );

    genvar e;
    generate
        for (e = 0; e < UNITS; e = e + 1) begin : g_unit
            gc_unit_queue #(.MEM_W(MEM_W), .PRODUCERS(PRODUCERS)) u_queue (
                .clk(clk), .rst(s_rst), .s_write(beat_write), .s_place(beat_place), .s_beat(beat),
                .s_valid(queue_valid[e]), .s_ready(queue_ready[e]), .s_index(queue_index),
                .s_room(e == COMPUTE ? s_compute_room : 1'b1),
                .s_available(available[e*PRODUCERS +: PRODUCERS]), .m_take(take[e*PRODUCERS +: PRODUCERS]),
                .m_start(m_start[e]), .m_instruction(m_instruction[e*1024 +: 1024]), .m_signal(signals[e*5 +: 5]),
                .m_tag(sts_tag[e*11 +: 11]),
                .s_done(s_done[e]),
                .sts_active(sts_active[e]), .sts_busy(busy[e]), .sts_waits(waits[e*PRODUCERS +: PRODUCERS]),
                .sts_idle(idle[e]), .sts_empty(empty[e]), .sts_index(indices[e*24 +: 24])
            );
            assign waiting[e] = |waits[e*PRODUCERS +: PRODUCERS];
        end
    endgenerate

    // ---- Tokens. Signal fields leave with the event that they belong to: 0 load, 1 wload, 2 compute read, 3 compute
    // written, 4 store, 5 update.
    wire [4:0] signal_load   = signals[0*5 +: 5] & {5{s_done[0]}};
    wire [4:0] signal_wload  = signals[1*5 +: 5] & {5{s_done[1]}};
    wire [4:0] signal_read   = s_read_signal     & {5{s_read}};
    wire [4:0] signal_write  = s_written_signal  & {5{s_written}};
    wire [4:0] signal_store  = signals[3*5 +: 5] & {5{s_done[3]}};
    wire [4:0] signal_update = signals[4*5 +: 5] & {5{s_done[4]}};

    // Loaded words pass the write pipelines of the buffers before anybody may read them. LOAD ends a cycle late.
    wire [9:0] signal_loaded;
    gc_delay_line #(.W(5), .CYCLES(LOADED-1)) u_loaded (
        .clk(clk), .clear(s_rst || start), .s_data(signal_load), .m_data(signal_loaded[4:0])
    );
    gc_delay_line #(.W(5), .CYCLES(LOADED)) u_wloaded (
        .clk(clk), .clear(s_rst || start), .s_data(signal_wload), .m_data(signal_loaded[9:5])
    );

    wire token_overflow;
    gc_token_matrix #(.PRODUCERS(PRODUCERS), .CONSUMERS(UNITS)) u_tokens (
        .clk(clk), .rst(s_rst || start),
        .s_signal({signal_update, signal_store, signal_write, signal_read, signal_loaded}),
        .s_take(take), .m_available(available), .sts_overflow(token_overflow)
    );

    // ---- End of program: compute instructions stay open until their results are written and LOSS is complete
    wire      closed;
    reg [3:0] open_q;
    gc_delay_line #(.W(1), .CYCLES(CLOSED)) u_closed (
        .clk(clk), .clear(s_rst), .s_data(s_written), .m_data(closed)
    );
    always @(posedge clk) begin
        if (m_start[COMPUTE] && !closed)      open_q <= open_q + 4'd1;
        else if (closed && !m_start[COMPUTE]) open_q <= open_q - 4'd1;
        if (s_rst) open_q <= 4'd0;
    end
    assign finished = running && dispatched && (&empty) && ~(|open_q) && !start;

    // Progress is told in the cycle after a unit's last one, before the unit counts as idle: else a deadlock is seen.
    // Moves of the bus come earlier than that, and are told a cycle later. So are its faults: a unit that ends with one
    // does so later still. And that it is quiet: with an abort only what was seen under the abort counts.
    reg       progress_q;
    reg       done_q;
    reg       moved_q;
    reg       step_q;
    reg [4:0] moves_q;
    reg       quiet_q;
    reg       aborted_q;
    reg [ADDR_W+15:0] fault_q;
    always @(posedge clk) begin
        active_q   <= sts_active;
        waiting_q  <= waiting;
        moves_q    <= s_moves;
        moved_q    <= |moves_q || s_scrubbing;
        quiet_q    <= s_quiet && !s_scrubbing;
        aborted_q  <= m_abort;
        fault_q    <= s_fault;
        step_q     <= s_step;
        done_q     <= |s_done;
        progress_q <= |moves_q || s_scrubbing || step_q || |m_start || |queue_valid;
    end

    gc_supervisor #(.ADDR_W(ADDR_W)) u_supervisor (
        .clk(clk), .rst(rst), .start(start), .cfg_watchdog(watchdog),
        .s_asked(asked), .s_asked_addr(asked_addr), .s_misaligned(misaligned),
        .s_finished(finished), .s_stop(stop), .s_force(force_bus),
        .s_progress(progress_q || done_q), .s_moved(moved_q), .s_mismatch(mismatch), .s_overflow(token_overflow),
        .s_refused(refused), .s_refused_code(refused_code), .s_next(next),
        .s_active(active_q), .s_waiting(waiting_q), .s_draining(|open_q), .s_index(indices),
        .s_fault(fault_q), .s_quiet(quiet_q && (aborted_q || !m_abort)),
        .m_abort(m_abort), .core_rst(core_rst), .m_forget(m_forget), .m_done(done), .m_failed(failed),
        .sts_running(running), .sts_open(bus_open), .sts_code(code), .sts_index(index), .sts_addr(error_addr)
    );

    // ---- Counters: per unit busy, waiting for each producer, idle; they sum to the cycles
    wire [1:0] acts   = {1'b0, s_saturated[0]} + {1'b0, s_saturated[3]};
    wire [1:0] deltas = {1'b0, s_saturated[1]} + {1'b0, s_saturated[4]} + {1'b0, s_saturated[5]};
    wire       counts = running && !preparing;
    wire [COUNTERS-5:0] events;
    assign events[7:0]   = {2'd0, s_saturated[2], deltas[0], acts[0], moves_q[1:0], 1'b1};
    generate
        for (e = 0; e < UNITS; e = e + 1) begin : g_events
            assign events[8+8*e +: 8] = {idle[e], waits[e*PRODUCERS +: PRODUCERS], busy[e]};
        end
    endgenerate
    // They count a cycle late, those of array and bus two, long before anybody reads.
    reg [COUNTERS-1:0] events_q;
    reg [1:0]          twice_q;
    reg                pad_q, yield_q, at_work_q;
    always @(posedge clk) begin
        {pad_q, yield_q} <= {s_pad, s_yield};
        at_work_q <= busy[COMPUTE] && counts;
        events_q <= {{4{at_work_q}} & {yield_q, !step_q && !pad_q && !yield_q, pad_q, step_q},
                     events & {(COUNTERS-4){counts}}};
        twice_q  <= {deltas[1], acts[1]} & {2{counts}};
    end
    gc_counters #(.N(COUNTERS)) u_counters (
        .clk(clk), .rst(rst), .clear(start), .s_event(events_q), .s_twice({{(COUNTERS-5){1'b0}}, twice_q, 3'd0}),
        .s_read(s_reg_read && |s_reg_addr[11:8]), .s_high(s_reg_addr[2]), .s_index({~s_reg_addr[8], s_reg_addr[7:3]}),
        .m_data(counter_data)
    );

    wire _unused = &{1'b0, signals[2*5 +: 5]};     // of compute: s_read_signal, s_written_signal
endmodule

`default_nettype wire
