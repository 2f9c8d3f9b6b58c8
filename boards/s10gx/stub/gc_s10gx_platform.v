// SPDX-License-Identifier: Apache-2.0
// For linters only: the ports of the system that platform.tcl makes, outputs at zero.
`default_nettype none

module gc_s10gx_platform (
    input  wire        clk_clk,
    input  wire        reset_reset_n,
    output wire        irq_irq,
    output wire        status_local_cal_success,
    output wire        status_local_cal_fail,
    input  wire        refclk_clk,
    input  wire        oct_oct_rzqin,
    output wire [0:0]  memory_mem_ck,
    output wire [0:0]  memory_mem_ck_n,
    output wire [16:0] memory_mem_a,
    output wire [0:0]  memory_mem_act_n,
    output wire [1:0]  memory_mem_ba,
    output wire [0:0]  memory_mem_bg,
    output wire [0:0]  memory_mem_cke,
    output wire [0:0]  memory_mem_cs_n,
    output wire [0:0]  memory_mem_odt,
    output wire [0:0]  memory_mem_reset_n,
    output wire [0:0]  memory_mem_par,
    input  wire [0:0]  memory_mem_alert_n,
    inout  wire [1:0]  memory_mem_dqs,
    inout  wire [1:0]  memory_mem_dqs_n,
    inout  wire [15:0] memory_mem_dq,
    inout  wire [1:0]  memory_mem_dbi_n
);
    assign {irq_irq, status_local_cal_success, status_local_cal_fail, memory_mem_ck, memory_mem_ck_n, memory_mem_a,
            memory_mem_act_n, memory_mem_ba, memory_mem_bg, memory_mem_cke, memory_mem_cs_n, memory_mem_odt,
            memory_mem_reset_n, memory_mem_par} = 31'd0;
    wire _unused = &{1'b0, clk_clk, reset_reset_n, refclk_clk, oct_oct_rzqin, memory_mem_alert_n, memory_mem_dqs,
                     memory_mem_dqs_n, memory_mem_dq, memory_mem_dbi_n};
endmodule

`default_nettype wire
