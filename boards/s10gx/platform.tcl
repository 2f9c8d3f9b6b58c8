# SPDX-License-Identifier: Apache-2.0
# For qsys-script: the system gradcore_s10gx, which is Quartus' top. JTAG host (registers, memory), engine, DDR4 controller. The engine runs at the
# 100 MHz that come in at `clk`; the interconnect crosses to the controller's clock. Give the memory of your kit as the name of a preset:
#   qsys-script --search-path=$GRADCORE_PACKAGE,$ --cmd="set preset {...}" --script=platform.tcl
package require -exact qsys 18.0
if {![info exists preset]} {error "set preset to the name of a preset of the EMIF IP for the kit's memory card"}

set registers 0x80000000;   # in the address space of the JTAG host, behind 2 GiB of memory

create_system gradcore_s10gx
set_project_property DEVICE_FAMILY {Stratix 10}
set_project_property DEVICE 1SG280LU2F50E2VG

foreach {name type} {
    clock   altera_clock_bridge
    button  altera_reset_bridge
    release altera_s10_user_rst_clkgate
    host    altera_jtag_avalon_master
    memory  altera_emif_s10
    engine  gradcore_avalon
} {
    add_instance $name $type
}
set_instance_parameter_value clock EXPLICIT_CLOCK_RATE 100000000
set_instance_parameter_value button ACTIVE_LOW_RESET 1
set_instance_parameter_value button SYNCHRONOUS_EDGES deassert
set_instance_parameter_value release outputType {Reset Interface}
set_instance_parameter_value memory PROTOCOL_ENUM PROTOCOL_DDR4
apply_instance_preset memory $preset
set_instance_parameter_value engine MEM_W 512
set_instance_parameter_value engine ADDR_W 33

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

# Pins: clock, button, reference clock and pins of the memory; the interrupt, for an LED.
foreach {name of} {
    clk        clock.in_clk
    reset      button.in_reset
    irq        engine.irq
    memory_clk memory.pll_ref_clk
    memory     memory.mem
    memory_oct memory.oct
} {
    set_interface_property $name EXPORT_OF $of
}
save_system gradcore_s10gx.qsys
