// SPDX-License-Identifier: Apache-2.0
// Top for the Stratix 10 GX development kit (1SG280): pins around u_system, the Platform Designer system that
// platform.tcl makes of the engine, a JTAG host and the controller of the kit's memory DDR4A. The engine runs at
// clk_100; the controller's clock stays inside the system. LEDs, lit at 0: memory calibrated, calibration failed,
// interrupt waiting.
`default_nettype none

module gc_s10gx (
    input  wire        clk_100,           // 100 MHz, LVDS
    input  wire        cpu_reset_n,       // button CPU_RESETn
    input  wire        ddr4_refclk,       // 116.625 MHz, LVDS
    input  wire        ddr4_rzq,
    output wire        ddr4_ck,
    output wire        ddr4_ck_n,
    output wire [16:0] ddr4_a,
    output wire        ddr4_act_n,
    output wire [1:0]  ddr4_ba,
    output wire        ddr4_bg,
    output wire        ddr4_cke,
    output wire        ddr4_cs_n,
    output wire        ddr4_odt,
    output wire        ddr4_reset_n,
    output wire        ddr4_par,
    input  wire        ddr4_alert_n,
    inout  wire [1:0]  ddr4_dqs,
    inout  wire [1:0]  ddr4_dqs_n,
    inout  wire [15:0] ddr4_dq,
    inout  wire [1:0]  ddr4_dbi_n,
    output wire [2:0]  led_n
);
    wire calibrated, failed, irq;

    gc_s10gx_platform u_system (
        .clk_clk(clk_100),
        .reset_reset_n(cpu_reset_n),
        .irq_irq(irq),
        .status_local_cal_success(calibrated), .status_local_cal_fail(failed),
        .refclk_clk(ddr4_refclk),
        .oct_oct_rzqin(ddr4_rzq),
        .memory_mem_ck(ddr4_ck), .memory_mem_ck_n(ddr4_ck_n), .memory_mem_a(ddr4_a), .memory_mem_act_n(ddr4_act_n),
        .memory_mem_ba(ddr4_ba), .memory_mem_bg(ddr4_bg), .memory_mem_cke(ddr4_cke), .memory_mem_cs_n(ddr4_cs_n),
        .memory_mem_odt(ddr4_odt), .memory_mem_reset_n(ddr4_reset_n), .memory_mem_par(ddr4_par),
        .memory_mem_alert_n(ddr4_alert_n), .memory_mem_dqs(ddr4_dqs), .memory_mem_dqs_n(ddr4_dqs_n),
        .memory_mem_dq(ddr4_dq), .memory_mem_dbi_n(ddr4_dbi_n)
    );

    assign led_n = ~{irq, failed, calibrated};
endmodule

`default_nettype wire
