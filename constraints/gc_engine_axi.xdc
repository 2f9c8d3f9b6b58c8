# SPDX-License-Identifier: Apache-2.0
# Timing of gc_engine_axi out of context. The period is what the tool shall aim at, not a measured one. Half of it is left to the logic
# outside, which is not known here: without a delay at the ports the paths behind them would not be timed at all.
set period 4.000
create_clock -name aclk -period $period [get_ports aclk]
set_input_delay  -clock aclk [expr $period / 2] [get_ports -filter {DIRECTION == IN} {aresetn s_axil_* m_axi_*}]
set_output_delay -clock aclk [expr $period / 2] [get_ports -filter {DIRECTION == OUT} {s_axil_* m_axi_* irq}]
