# SPDX-License-Identifier: Apache-2.0
# The memory's clocks and pins are constrained by its controller. Nobody times button and LEDs.
create_clock -name clk_100 -period 10.000 [get_ports clk_100]
set_false_path -from [get_ports cpu_reset_n]
set_false_path -to [get_ports {led_n*}]
