# SPDX-License-Identifier: Apache-2.0
# Timing of the top alone. The period is what the tool shall aim at, not a measured one. Half of it is left to the logic outside, which is
# not known here: without a delay at the ports the paths behind them would not be timed at all.
set clock  csi_clock_clk
set period 4.000
create_clock -name $clock -period $period [get_ports $clock]
set_input_delay  -clock $clock [expr $period / 2] [remove_from_collection [all_inputs] [get_ports $clock]]
set_output_delay -clock $clock [expr $period / 2] [all_outputs]
