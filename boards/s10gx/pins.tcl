# SPDX-License-Identifier: Apache-2.0
# Pins of the Stratix 10 GX development kit, as in published designs for it (README.md); of a vector from bit 0 on.
foreach {port pins} {
    clk_100      J20
    cpu_reset_n  A20
    led_n        {B19 E17 D18}
    ddr4_refclk  M35
    ddr4_rzq     P34
    ddr4_ck      F39
    ddr4_ck_n    G39
    ddr4_a       {K38 L37 M37 M38 J39 J38 K39 L39 P37 R37 N37 P38 P35 K36 K37 N36 P36}
    ddr4_act_n   H38
    ddr4_ba      {L36 T35}
    ddr4_bg      R36
    ddr4_cke     L40
    ddr4_cs_n    G38
    ddr4_odt     G40
    ddr4_reset_n E40
    ddr4_par     H40
    ddr4_alert_n R33
    ddr4_dqs     {R32 J26}
    ddr4_dqs_n   {T32 K26}
    ddr4_dq      {R34 R31 U33 U34 T34 U32 V32 P33 H27 H26 J25 H25 L27 L26 G25 K27}
    ddr4_dbi_n   {T31 M27}
} {
    for {set i 0} {$i < [llength $pins]} {incr i} {
        set_location_assignment PIN_[lindex $pins $i] -to [expr {[llength $pins] > 1 ? "$port\[$i\]" : $port}]
    }
}
# The memory's I/O standards come with its controller.
set_instance_assignment -name IO_STANDARD LVDS -to clk_100
set_instance_assignment -name IO_STANDARD "1.8 V" -to cpu_reset_n
set_instance_assignment -name IO_STANDARD "1.8 V" -to led_n
