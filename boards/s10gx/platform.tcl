# SPDX-License-Identifier: Apache-2.0
# For qsys-script: the system gc_s10gx_platform of JTAG host (registers, memory), engine and DDR4 controller. Its ports are those of
# stub/gc_s10gx_platform.v. The engine runs at the 100 MHz of `clk`; the interconnect crosses to the controller's clock.
#   qsys-script --search-path=$GRADCORE_PACKAGE,$ --script=platform.tcl
package require -exact qsys 18.0

set registers 0x80000000;   # in the address space of the JTAG host, behind the memory

create_system gc_s10gx_platform
set_project_property DEVICE_FAMILY {Stratix 10}
set_project_property DEVICE 1SG280LU2F50E2VG

foreach {name type} {
    clock   altera_clock_bridge
    button  altera_reset_bridge
    release altera_s10_user_rst_clkgate
    host    altera_jtag_avalon_master
    memory  altera_emif_s10
    engine  gc_engine_avalon
} {
    add_instance $name $type
}
set_instance_parameter_value clock EXPLICIT_CLOCK_RATE 100000000
set_instance_parameter_value button ACTIVE_LOW_RESET 1
set_instance_parameter_value button SYNCHRONOUS_EDGES deassert
set_instance_parameter_value release outputType {Reset Interface}
set_instance_parameter_value engine MEM_W 128
set_instance_parameter_value engine ADDR_W 33

# DDR4A as Intel's reference design for the kit uses it: 16 bits at 933 MHz, 512 MiB; 128 bits at a quarter of that for the system. Times of a
# DDR4-2400 device; ps, ns, us and clock cycles as the names say.
foreach {name value} {
    PROTOCOL_ENUM PROTOCOL_DDR4
    PHY_DDR4_MEM_CLK_FREQ_MHZ 933.0
    PHY_DDR4_RATE_ENUM RATE_QUARTER
    PHY_DDR4_DEFAULT_REF_CLK_FREQ false
    PHY_DDR4_USER_REF_CLK_FREQ_MHZ 116.625
    PHY_DDR4_DEFAULT_IO false
    PHY_DDR4_USER_PLL_REF_CLK_IO_STD_ENUM IO_STD_LVDS
    PHY_DDR4_USER_RZQ_IO_STD_ENUM IO_STD_CMOS_12
    PHY_DDR4_USER_AC_IO_STD_ENUM IO_STD_SSTL_12
    PHY_DDR4_USER_AC_MODE_ENUM OUT_OCT_40_CAL
    PHY_DDR4_USER_CK_IO_STD_ENUM IO_STD_SSTL_12
    PHY_DDR4_USER_CK_MODE_ENUM OUT_OCT_40_CAL
    PHY_DDR4_USER_DATA_IO_STD_ENUM IO_STD_POD_12
    PHY_DDR4_USER_DATA_OUT_MODE_ENUM OUT_OCT_48_CAL
    PHY_DDR4_USER_DATA_IN_MODE_ENUM IN_OCT_120_CAL
    MEM_DDR4_FORMAT_ENUM MEM_FORMAT_UDIMM
    MEM_DDR4_DQ_WIDTH 16
    MEM_DDR4_ROW_ADDR_WIDTH 15
    MEM_DDR4_COL_ADDR_WIDTH 10
    MEM_DDR4_BANK_GROUP_WIDTH 1
    MEM_DDR4_ALERT_N_PLACEMENT_ENUM DDR4_ALERT_N_PLACEMENT_DATA_LANES
    MEM_DDR4_ALERT_N_DQS_GROUP 0
    MEM_DDR4_TCL 18
    MEM_DDR4_WTCL 16
    MEM_DDR4_RTT_NOM_ENUM DDR4_RTT_NOM_RZQ_4
    MEM_DDR4_RTT_WR_ENUM DDR4_RTT_WR_ODT_DISABLED
    MEM_DDR4_READ_DBI true
    MEM_DDR4_WRITE_DBI false
    MEM_DDR4_SPEEDBIN_ENUM DDR4_SPEEDBIN_2400
    MEM_DDR4_TIS_PS 60
    MEM_DDR4_TIH_PS 95
    MEM_DDR4_VDIVW_TOTAL 136
    MEM_DDR4_TDQSCK_PS 165
    MEM_DDR4_TRAS_NS 32.0
    MEM_DDR4_TRCD_NS 15.0
    MEM_DDR4_TRP_NS 15.0
    MEM_DDR4_TREFI_US 7.8
    MEM_DDR4_TRFC_NS 260.0
    MEM_DDR4_TWR_NS 15.0
    MEM_DDR4_TFAW_NS 30.0
    MEM_DDR4_TWTR_L_CYC 9
    MEM_DDR4_TWTR_S_CYC 3
    MEM_DDR4_TRRD_L_CYC 8
    MEM_DDR4_TRRD_S_CYC 7
    MEM_DDR4_TCCD_L_CYC 6
    MEM_DDR4_TCCD_S_CYC 4
} {
    set_instance_parameter_value memory $name $value
}

# Reset by the button, and until the device has been configured as a whole.
foreach sink {button.clk host.clk engine.clock} {add_connection clock.out_clk $sink}
foreach sink {host.clk_reset engine.reset} {
    add_connection button.out_reset $sink
    add_connection release.ninit_done $sink
}
foreach {from to base} "
    host.master  memory.ctrl_amm_0 0
    engine.read  memory.ctrl_amm_0 0
    engine.write memory.ctrl_amm_0 0
    host.master  engine.csr        $registers
" {
    add_connection $from $to
    set_connection_parameter_value $from/$to baseAddress $base
}

foreach {name of} {
    clk    clock.in_clk
    reset  button.in_reset
    irq    engine.irq
    refclk memory.pll_ref_clk
    oct    memory.oct
    memory memory.mem
    status memory.status
} {
    set_interface_property $name EXPORT_OF $of
}
save_system gc_s10gx_platform.qsys
