# SPDX-License-Identifier: Apache-2.0
# Pins of memory, PCI Express, clocks and reset come with the vendor's IP from the board files; left are the LEDs. Nobody times them.
set_property PACKAGE_PIN AT32 [get_ports {led[0]}]
set_property PACKAGE_PIN AV34 [get_ports {led[1]}]
set_property PACKAGE_PIN AY30 [get_ports {led[2]}]
set_property IOSTANDARD LVCMOS12 [get_ports {led[*]}]
set_false_path -to [get_ports {led[*]}]
