// SPDX-License-Identifier: Apache-2.0
// Runs a program to its end, good or bad. The first error of a program (doc/registers.md, "Errors") is kept; m_abort
// then stops all new memory requests, and when nothing is outstanding any more, core_rst takes the engine back to
// where it was before the program. Only then the program counts as failed, so the bus is clean when anybody hears of
// it. A bus that stays still is not waited for: the program fails, and sts_open stands until the answers have come
// after all or s_force gives them up (m_forget). sts_running from start to end.
`default_nettype none

module gc_supervisor #(
    parameter ADDR_W = 48
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              s_asked,            // the cycle before start
    input  wire [ADDR_W-1:0] s_asked_addr,       // then, with s_misaligned, the address to be told
    input  wire              start,
    input  wire              s_misaligned,       // the program must not begin; stable from s_asked to the end
    input  wire              s_finished,         // the program has reached its end and everything is done
    input  wire              s_stop,             // asked for by the host
    input  wire              s_force,            // asked for by the host
    input  wire [31:0]       cfg_watchdog,       // cycles without progress, 0: any number
    input  wire              s_progress,
    input  wire              s_moved,            // something on the memory port has
    input  wire [4:0]        s_mismatch,         // pulses of the units: lengths of a transfer that do not agree
    input  wire              s_refused,          // by dispatch, as long as it lasts
    input  wire [7:0]        s_refused_code,
    input  wire              s_overflow,         // of a token counter
    input  wire [23:0]       s_next,             // number of the instruction that dispatch is at
    input  wire [4:0]        s_active,           // units at work, load to update
    input  wire [4:0]        s_waiting,          // units that lack a token
    input  wire              s_draining,         // compute still has results to write
    input  wire [5*24-1:0]   s_index,            // number of each unit's instruction, at work or waiting
    input  wire [ADDR_W+15:0] s_fault,           // of gc_memory_port: {address, client, client writes, code, valid}
    input  wire              s_quiet,            // nothing shown or outstanding on the memory port
    output wire              m_abort,
    output wire              core_rst,
    output reg               m_forget,           // pulse with the first cycle of core_rst: it comes without quiet
    output reg               m_done,             // pulses; nothing in this cycle is an error any more
    output wire              m_failed,
    output reg               sts_running,
    output wire              sts_open,           // failed, but not quiet
    output reg  [7:0]        sts_code,
    output reg  [23:0]       sts_index,          // a cycle behind sts_code
    output reg  [ADDR_W-1:0] sts_addr
);
    localparam [7:0] MALFORMED  = 8'd3;
    localparam [7:0] DEADLOCK   = 8'd4;
    localparam [7:0] WATCHDOG   = 8'd5;
    localparam [7:0] STOPPED    = 8'd6;
    localparam [7:0] MISALIGNED = 8'd9;
    localparam [7:0] OVERFLOW   = 8'd10;

    reg        misaligned_q; // known with start
    reg        asked_q;      // with start
    reg [ADDR_W-1:0] asked_addr_q;
    reg        abort_q;
    reg [2:0]  clear_q;      // cycles of core_rst still to come
    reg [31:0] still_q;      // cycles without progress, after an error without a move of the bus
    reg        settled_q;    // more of them than anything inside takes without a sign of progress
    reg        expired_q;    // as many as the watchdog allows
    reg        endless_q;    // it allows any number: after an error 65536

    wire [ADDR_W-1:0] bus_addr;
    wire [5:0]        bus_client;
    wire              bus_writes;
    wire [7:0]        bus_code;
    wire              bus_error;
    assign {bus_addr, bus_client, bus_writes, bus_code, bus_error} = s_fault;

    wire deadlock = settled_q && ~(|s_active) && !s_draining && |s_waiting && s_quiet;
    wire expired  = expired_q && !endless_q;
    wire own      = s_refused || misaligned_q || s_overflow || s_stop;     // of no unit
    wire error    = sts_running && !abort_q && !m_done && (bus_error || |s_mismatch || own || deadlock || expired);

    // The unit that an error belongs to, one-hot; none: dispatch.
    wire [4:0] lost     = |s_mismatch ? s_mismatch : |s_active ? s_active : s_waiting;
    wire [4:0] first    = lost & (~lost + 5'd1);
    wire [4:0] writer   = {|bus_client[3:2], |bus_client[1:0], 3'b000};
    wire [4:0] reader   = {|bus_client[4:3], bus_client[5], 1'b0, bus_client[2:1]};
    wire [4:0] bus      = bus_writes ? writer : reader;
    wire [4:0] culprit  = bus_error ? bus : (~(|s_mismatch) && own) ? 5'd0 : first;
    // Its number is chosen in the next cycle.
    reg          named_q;
    reg  [5:0]   culprit_q;
    reg  [143:0] numbers_q;
    wire [23:0]  index;
    gc_one_hot_mux #(.N(6), .W(24)) u_index (
        .s_select(culprit_q),
        .s_data(numbers_q),
        .m_data(index)
    );

    wire waits    = abort_q && ~(|clear_q);
    wire clean    = waits && s_quiet;
    wire forced   = waits && s_force && sts_open;
    wire given_up = waits && sts_running && expired_q && !s_quiet;
    wire cleared  = clear_q == 3'd1;
    assign m_abort  = abort_q;
    assign core_rst = |clear_q;
    assign m_failed = sts_running && (cleared || given_up);
    assign sts_open = abort_q && !sts_running;

    wire        restart = start || error || (abort_q ? s_moved : s_progress);
    wire [31:0] limit   = {cfg_watchdog[31:17], cfg_watchdog[16] || endless_q, cfg_watchdog[15:0]};

    always @(posedge clk) begin
        if (start) sts_running <= 1'b1;
        else if (m_done || m_failed) sts_running <= 1'b0;
        if (restart)             still_q <= 32'd0;
        else if (~(&still_q))    still_q <= still_q + 32'd1;
        m_done       <= sts_running && s_finished && !error && !abort_q && !m_done;
        misaligned_q <= s_misaligned;
        asked_q      <= s_asked;
        asked_addr_q <= s_asked_addr;
        endless_q <= ~(|cfg_watchdog);
        settled_q <= !restart && (settled_q || (&still_q[7:0]));
        expired_q <= !restart && still_q == limit;
        if (s_asked) begin
            sts_code  <= 8'd0;
            sts_index <= 24'd0;
        end else if (error) begin
            sts_code  <= bus_error ? bus_code : |s_mismatch ? MALFORMED : s_refused ? s_refused_code
                       : misaligned_q ? MISALIGNED : s_overflow ? OVERFLOW : s_stop ? STOPPED
                       : deadlock ? DEADLOCK : WATCHDOG;
            if (bus_error) sts_addr <= bus_addr;
        end
        if (asked_q) sts_addr <= misaligned_q ? asked_addr_q : {ADDR_W{1'b0}};
        named_q   <= error;
        culprit_q <= {~(|culprit), culprit};
        numbers_q <= {s_next, s_index};
        if (named_q) sts_index <= index;
        if (error)        abort_q <= 1'b1;
        else if (cleared) abort_q <= 1'b0;
        clear_q  <= (clean || forced) ? 3'd4 : clear_q - {2'd0, |clear_q};
        m_forget <= forced;
        if (rst) begin
            sts_running <= 1'b0;
            m_done      <= 1'b0;
            abort_q     <= 1'b0;
            clear_q     <= 3'd0;
            m_forget    <= 1'b0;
            named_q     <= 1'b0;
            sts_code    <= 8'd0;
        end
    end
endmodule

`default_nettype wire
