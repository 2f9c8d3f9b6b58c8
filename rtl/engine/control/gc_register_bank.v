// SPDX-License-Identifier: Apache-2.0
// The engine's registers as in gradcore_regs.rdl (doc/registers.md): identification, commands and status, interrupt,
// base addresses, DMA windows, watchdog, seed, rate, error, loss and counters. Native port: a write takes one cycle and
// changes the bytes whose strobe is set; read data come in the cycle after s_reg_read. What a program depends on is
// locked while busy; a start or a scrub is ignored then. Unknown addresses read as zero and ignore writes.
`default_nettype none

module gc_register_bank #(
    parameter ADDR_W = 48,
    parameter WINDOWS = 4,
    parameter MEM_W  = 512,
    parameter [31:0] CONFIG  = 32'd0,
    parameter [31:0] CONFIG2 = 32'd0,
    parameter [31:0] CONFIG3 = 32'd0
) (
    input  wire                           clk,
    input  wire                           rst,
    input  wire                           s_reg_write,
    input  wire [11:0]                    s_reg_addr,
    input  wire [31:0]                    s_reg_wdata,
    input  wire [3:0]                     s_reg_strb,
    input  wire                           s_reg_read,
    output wire [31:0]                    m_reg_rdata,
    output reg                            m_start,
    output reg                            m_stop,
    output reg                            m_force,
    output reg                            m_scrub,
    output wire                           m_asked,             // the cycle before m_start
    output wire [ADDR_W-1:0]              m_asked_addr,        // in that cycle the first misaligned address, if any
    output wire                           m_misaligned,        // PROG_BASE or BASE is no multiple of the beat
    output wire                           m_changed,  // pulse: the write of the cycle before has changed a window
    output wire [ADDR_W-1:0]              cfg_prog_base,
    output reg  [23:0]                    cfg_prog_length,
    output wire [4*ADDR_W-1:0]            cfg_base,
    output reg  [31:0]                    cfg_seed,
    output reg  [15:0]                    cfg_rate,
    output reg  [31:0]                    cfg_watchdog,
    output wire [WINDOWS*(2*ADDR_W-22)-1:0] cfg_windows,  // {write rights, read rights, ends, bases}, in pages of 4 KiB
    output wire                           irq,
    input  wire                           s_busy,
    input  wire                           s_open,              // failed, but the memory still owes something
    input  wire                           s_done,              // pulse: the program has ended
    input  wire                           s_failed,            // pulse: it has ended with an error
    input  wire [7:0]                     s_code,              // of the error
    input  wire [23:0]                    s_index,
    input  wire [ADDR_W-1:0]              s_addr,
    input  wire                           s_overflow,
    input  wire [63:0]                    s_loss,
    input  wire [31:0]                    s_counter
);
    localparam [31:0] ID      = 32'h47524144;   // "GRAD"
    localparam [31:0] VERSION = 32'h00000100;   // 0.1.0
    localparam [15:0] RATE_ONE = 16'h8000;      // 1.0
    localparam        BEAT_W  = $clog2(MEM_W/8);

    reg        done_q;
    reg        failed_q;
    reg [1:0]  irq_enable_q;
    reg [1:0]  irq_status_q;
    reg        lock_q;         // of the windows
    reg        locked_q;       // a write was ignored
    reg        counter_q;
    reg        late_q;         // rdata is a word of a window, or STATUS: these come late
    reg [31:0] word_q;
    reg [31:0] rdata_q;

    wire [5:0]  word  = s_reg_addr[7:2];
    wire        low   = s_reg_addr[11:8] == 4'd0;
    wire [5:0]  count = {~s_reg_addr[8], s_reg_addr[7:3]};     // number of the counter; 6, 7 and 52.. do not exist
    wire        write = s_reg_write && low && |s_reg_strb;
    wire [31:0] mask    = {{8{s_reg_strb[3]}}, {8{s_reg_strb[2]}}, {8{s_reg_strb[1]}}, {8{s_reg_strb[0]}}};
    wire [31:0] data    = s_reg_wdata & mask;      // bits without strobe are zero: no start, nothing acknowledged
    wire        command = word == 6'h04;
    wire        busy  = s_busy || m_start || m_scrub;
    wire        free  = !busy && !s_open;
    wire        start = write && command && data[0] && free;
    wire [5:0]  status = {locked_q, s_open, s_overflow && !failed_q, failed_q, done_q, busy};
    wire        acknowledge = write && word == 6'h18;
    // locked while busy, as the windows are
    wire        setting = word[5:3] == 3'b001 || word[5:2] == 4'b0100 || word == 6'h19 || word == 6'h1c;
    wire        window  = word[5] && {29'd0, word[4:2]} < WINDOWS;
    wire        ignored = write && ((setting && busy) || (window && (busy || lock_q)));

    // The address that a word belongs to: PROG_BASE, ERROR_ADDR, a BASE.
    wire [2:0]  pick  = word[3:1];
    wire [63:0] wide  = {{(64-ADDR_W){1'b0}}, (pick == 3'b100) ? cfg_prog_base
                      : (pick == 3'b011) ? (failed_q ? s_addr : {ADDR_W{1'b0}})
                      : cfg_base[{~pick[1], pick[0]}*ADDR_W +: ADDR_W]};
    // A start tells the first one that is misaligned.
    wire [4:0]  skewed;
    assign skewed = {|cfg_base[3*ADDR_W +: BEAT_W], |cfg_base[2*ADDR_W +: BEAT_W], |cfg_base[1*ADDR_W +: BEAT_W],
                     |cfg_base[0 +: BEAT_W], |cfg_prog_base[0 +: BEAT_W]};
    assign m_asked      = start;
    assign m_asked_addr = skewed[0] ? cfg_prog_base : skewed[1] ? cfg_base[0 +: ADDR_W]
                        : skewed[2] ? cfg_base[ADDR_W +: ADDR_W]
                        : skewed[3] ? cfg_base[2*ADDR_W +: ADDR_W] : cfg_base[3*ADDR_W +: ADDR_W];
    assign m_misaligned = |skewed;

    assign irq         = |(irq_enable_q & irq_status_q);
    assign m_reg_rdata = counter_q ? s_counter : late_q ? word_q : rdata_q;

    always @(posedge clk) begin
        m_start <= start;
        m_stop  <= write && command && data[1];
        m_force <= write && command && data[2];
        m_scrub <= write && command && data[3] && free;
        if (start)       done_q <= 1'b0;
        else if (s_done) done_q <= 1'b1;
        if (start)         failed_q <= 1'b0;
        else if (s_failed) failed_q <= 1'b1;
        irq_status_q <= start ? 2'b00 : (irq_status_q & ~(acknowledge ? data[1:0] : 2'b00)) | {s_failed, s_done};
        locked_q <= ignored || (locked_q && !start);
        if (write && word == 6'h1b && data[0]) lock_q <= 1'b1;
        if (write && word == 6'h06) irq_enable_q <= data[1:0] | (irq_enable_q & ~mask[1:0]);
        if (write && !busy)
            case (word)
                6'h0a: cfg_seed <= data | (cfg_seed & ~mask);
                6'h0b: cfg_prog_length <= data[23:0] | (cfg_prog_length & ~mask[23:0]);
                6'h19: cfg_watchdog <= data | (cfg_watchdog & ~mask);
                6'h1c: cfg_rate <= data[15:0] | (cfg_rate & ~mask[15:0]);
                default: ;
            endcase
        if (rst) begin
            m_start      <= 1'b0;
            m_stop       <= 1'b0;
            m_force      <= 1'b0;
            m_scrub      <= 1'b0;
            done_q       <= 1'b0;
            failed_q     <= 1'b0;
            irq_enable_q <= 2'b00;
            irq_status_q <= 2'b00;
            lock_q       <= 1'b0;
            locked_q     <= 1'b0;
            cfg_watchdog <= 32'd0;
            cfg_seed     <= 32'd0;
            cfg_rate     <= RATE_ONE;
            cfg_prog_length <= 24'd0;
        end
    end

    wire [4:0] pair = word[5:1];     // number of the two words of an address
    gc_address_register #(.ADDR_W(ADDR_W)) u_prog_base (
        .clk(clk), .rst(rst),
        .s_write(write && !busy),
        .s_word({word[0], ~word[0]} & {2{pair == 5'd4}}),
        .s_strb(s_reg_strb),
        .s_wdata(s_reg_wdata),
        .m_addr(cfg_prog_base)
    );
    genvar n;
    generate
        for (n = 0; n < 4; n = n + 1) begin : g_base
            gc_address_register #(.ADDR_W(ADDR_W)) u_base (
                .clk(clk), .rst(rst),
                .s_write(write && !busy),
                .s_word({word[0], ~word[0]} & {2{pair == 6 + n}}),
                .s_strb(s_reg_strb),
                .s_wdata(s_reg_wdata),
                .m_addr(cfg_base[n*ADDR_W +: ADDR_W])
            );
        end
    endgenerate

    // Windows: 16 bytes each, base with the rights in its low bits, then the end.
    wire [31:0] window_data;
    gc_window_registers #(.ADDR_W(ADDR_W), .WINDOWS(WINDOWS)) u_windows (
        .clk(clk), .rst(rst),
        .s_write(write && window && !busy && !lock_q),
        .s_word(word[4:0]),
        .s_strb(s_reg_strb),
        .s_wdata(s_reg_wdata),
        .m_rdata(window_data),
        .m_changed(m_changed),
        .cfg_windows(cfg_windows)
    );

    always @(posedge clk)
        if (s_reg_read) begin
            counter_q <= (s_reg_addr[11:8] == 4'd1 || s_reg_addr[11:8] == 4'd2)
                      && (count < 6'd6 || (count > 6'd7 && count < 6'd52));
            late_q <= low && (word[5] || word == 6'h05);
            word_q <= word[5] ? window_data : {26'd0, status};
            if (!low) rdata_q <= 32'd0;
            else case (word)
                6'h00: rdata_q <= ID;
                6'h01: rdata_q <= VERSION;
                6'h02: rdata_q <= CONFIG;
                6'h03: rdata_q <= CONFIG2;
                6'h06: rdata_q <= {30'd0, irq_enable_q};
                6'h07: rdata_q <= failed_q ? {s_index, s_code} : 32'd0;
                6'h0a: rdata_q <= cfg_seed;
                6'h0b: rdata_q <= {8'd0, cfg_prog_length};
                6'h08, 6'h0c, 6'h0e, 6'h10, 6'h12, 6'h16: rdata_q <= wide[31:0];
                6'h09, 6'h0d, 6'h0f, 6'h11, 6'h13, 6'h17: rdata_q <= wide[63:32];
                6'h14: rdata_q <= failed_q ? 32'd0 : s_loss[31:0];
                6'h15: rdata_q <= failed_q ? 32'd0 : s_loss[63:32];
                6'h18: rdata_q <= {30'd0, irq_status_q};
                6'h19: rdata_q <= cfg_watchdog;
                6'h1a: rdata_q <= CONFIG3;
                6'h1b: rdata_q <= {31'd0, lock_q};
                6'h1c: rdata_q <= {16'd0, cfg_rate};
                default: rdata_q <= 32'd0;
            endcase
        end

    wire _unused = &{1'b0, s_reg_addr[1:0]};
endmodule

`default_nettype wire
