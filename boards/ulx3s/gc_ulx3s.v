// SPDX-License-Identifier: Apache-2.0
// Top for the ULX3S (LFE5U-85F): an engine of 4x4 lanes and 4 columns for words of 8 bits, its memory in block RAM, and
// a serial line to the host through the board's USB. One clock, 65 MHz, from the board's 25 MHz. LEDs: 0..4 the units
// load, weight load, compute, store, update; 5 the interrupt; 6 a byte comes or goes; 7 the clock runs. The parameters
// of the engine are those of gradcore.isa.config.BOARDS.
`default_nettype none

module gc_ulx3s #(
    parameter CLOCK_HZ  = 65000000,
    parameter DIVISOR   = 65,        // 1 Mbit/s
    parameter WORDS     = 16384,     // of 8 bytes, in the memory
    parameter SILENCE_W = 20
) (
    input  wire       clk_25mhz,
    input  wire       btn_pwr_n,     // low: reset
    input  wire       ftdi_txd,      // from the host
    output wire       ftdi_rxd,      // to the host
    output wire       wifi_gpio0,    // high: the board's other processor leaves the FPGA alone
    output wire [7:0] led
);
    wire clk, locked;

    // 25 MHz / 5 * 13 = 65 MHz; the oscillator runs at ten times that, 650 MHz.
    (* FREQUENCY_PIN_CLKI = "25", FREQUENCY_PIN_CLKOP = "65", ICP_CURRENT = "12", LPF_RESISTOR = "8" *)
    EHXPLLL #(
        .CLKI_DIV(5), .CLKFB_DIV(13), .CLKOP_DIV(10), .CLKOP_CPHASE(4), .CLKOP_ENABLE("ENABLED"),
        .FEEDBK_PATH("CLKOP"), .PLLRST_ENA("DISABLED"), .STDBY_ENABLE("DISABLED"), .DPHASE_SOURCE("DISABLED")
    ) u_pll (
        .CLKI(clk_25mhz), .CLKFB(clk), .CLKOP(clk), .LOCK(locked),
        .RST(1'b0), .STDBY(1'b0), .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b1), .PHASESTEP(1'b1),
        .PHASELOADREG(1'b1), .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0)
    );

    // Reset until the clock has been good for 256 cycles and the button is up.
    reg [1:0]  up_q;
    reg [7:0]  wait_q;
    reg        rst_q;
    always @(posedge clk) begin
        up_q  <= {up_q[0], locked && btn_pwr_n};
        rst_q <= wait_q != 8'hFF;
        if (!up_q[1]) wait_q <= 8'd0;
        else if (wait_q != 8'hFF) wait_q <= wait_q + 8'd1;
    end

    wire        reg_write, reg_read, rreq_valid, rreq_ready, rdat_valid, rdat_last, wreq_valid, wreq_ready;
    wire        wdat_valid, wdat_ready, wdat_last, wrsp_valid, host_valid, host_ready, host_write, host_back;
    wire        forget, irq;
    wire [11:0] reg_addr;
    wire [31:0] reg_wdata, reg_rdata, rreq_addr, wreq_addr, host_addr;
    wire [3:0]  reg_strb;
    wire [7:0]  rreq_len, wreq_len_unused, wdat_strb_unused;
    wire [63:0] rdat_data, wdat_data, host_data, host_word;
    wire [4:0]  active;
    wire [54:0] tag_unused;

    gc_uart_bridge #(.DIVISOR(DIVISOR), .CLOCK_HZ(CLOCK_HZ), .MEM_BYTES(8*WORDS), .SILENCE_W(SILENCE_W)) u_bridge (
        .clk(clk), .rst(rst_q),
        .rx(ftdi_txd),
        .tx(ftdi_rxd),
        .m_reg_write(reg_write), .m_reg_addr(reg_addr), .m_reg_wdata(reg_wdata), .m_reg_strb(reg_strb),
        .m_reg_read(reg_read), .s_reg_rdata(reg_rdata),
        .m_mem_valid(host_valid), .m_mem_ready(host_ready), .m_mem_write(host_write), .m_mem_addr(host_addr),
        .m_mem_data(host_data), .s_mem_valid(host_back), .s_mem_data(host_word)
    );

    gc_engine #(
        .GRID(4), .COLS(4), .DW(8), .ACC_W(24), .MEM_W(64), .ADDR_W(32), .ACT_DEPTH(2048), .WGT_DEPTH(2048),
        .GRAD_DEPTH(1024), .GATE_DEPTH(4096), .DSP(2), .HAS_VECTOR(0), .HAS_SOFTMAX(0), .HAS_FACTOR(0)
    ) u_engine (
        .clk(clk), .rst(rst_q),
        .s_reg_write(reg_write), .s_reg_addr(reg_addr), .s_reg_wdata(reg_wdata), .s_reg_strb(reg_strb),
        .s_reg_read(reg_read), .m_reg_rdata(reg_rdata),
        .m_rreq_valid(rreq_valid), .m_rreq_ready(rreq_ready), .m_rreq_addr(rreq_addr), .m_rreq_len(rreq_len),
        .s_rdat_valid(rdat_valid), .s_rdat_data(rdat_data), .s_rdat_last(rdat_last), .s_rdat_resp(2'b00),
        .m_wreq_valid(wreq_valid), .m_wreq_ready(wreq_ready), .m_wreq_addr(wreq_addr), .m_wreq_len(wreq_len_unused),
        .m_wdat_valid(wdat_valid), .m_wdat_ready(wdat_ready), .m_wdat_data(wdat_data), .m_wdat_strb(wdat_strb_unused),
        .m_wdat_last(wdat_last), .s_wrsp_valid(wrsp_valid), .s_wrsp_resp(2'b00),
        .m_forget(forget),
        .irq(irq),
        .sts_active(active), .sts_tag(tag_unused)
    );

    gc_ulx3s_memory #(.DEPTH(WORDS)) u_memory (
        .clk(clk), .rst(rst_q || forget),
        .s_rreq_valid(rreq_valid), .s_rreq_ready(rreq_ready), .s_rreq_addr(rreq_addr), .s_rreq_len(rreq_len),
        .m_rdat_valid(rdat_valid), .m_rdat_data(rdat_data), .m_rdat_last(rdat_last),
        .s_wreq_valid(wreq_valid), .s_wreq_ready(wreq_ready), .s_wreq_addr(wreq_addr),
        .s_wdat_valid(wdat_valid), .s_wdat_ready(wdat_ready), .s_wdat_data(wdat_data), .s_wdat_last(wdat_last),
        .m_wrsp_valid(wrsp_valid),
        .s_host_valid(host_valid), .s_host_ready(host_ready), .s_host_write(host_write), .s_host_addr(host_addr),
        .s_host_data(host_data), .m_host_valid(host_back), .m_host_data(host_word)
    );

    // An LED shines for 2^22 cycles (65 ms) more than what it shows.
    reg [22:0] time_q;
    reg [6:0]  seen_q, led_q;
    wire [6:0] shown = {!ftdi_txd || !ftdi_rxd, irq, active};
    always @(posedge clk) begin
        time_q <= time_q + 23'd1;
        if (time_q[21:0] == 22'd0) begin
            led_q  <= seen_q;
            seen_q <= shown;
        end else seen_q <= seen_q | shown;
        if (rst_q) time_q <= 23'd0;
    end
    assign led        = {time_q[22], led_q};
    assign wifi_gpio0 = 1'b1;

    wire _unused = &{1'b0, wreq_len_unused, wdat_strb_unused, tag_unused};
endmodule

`default_nettype wire
