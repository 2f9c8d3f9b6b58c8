# SPDX-License-Identifier: Apache-2.0
# Beside sources and pins: the system that qsys-script has made from platform.tcl, its engine where `make package` has put it, and how the kit
# supplies the device: core voltage by PMBus, oscillator of 125 MHz, configuration by JTAG or from the kit's flash.
if {![info exists env(GRADCORE_PACKAGE)]} {error "set GRADCORE_PACKAGE to the folder that make package has written"}
foreach {name value} [list \
    QSYS_FILE gc_s10gx_platform.qsys \
    IP_SEARCH_PATHS $env(GRADCORE_PACKAGE) \
    USE_PWRMGT_SCL SDM_IO14 \
    USE_PWRMGT_SDA SDM_IO11 \
    VID_OPERATION_MODE {PMBUS MASTER} \
    PWRMGT_BUS_SPEED_MODE {400 KHZ} \
    PWRMGT_SLAVE_DEVICE_TYPE LTM4677 \
    PWRMGT_SLAVE_DEVICE0_ADDRESS 4F \
    PWRMGT_PAGE_COMMAND_ENABLE ON \
    PWRMGT_VOLTAGE_OUTPUT_FORMAT {AUTO DISCOVERY} \
    PWRMGT_TRANSLATED_VOLTAGE_VALUE_UNIT VOLTS \
    DEVICE_INITIALIZATION_CLOCK OSC_CLK_1_125MHZ \
    STRATIXV_CONFIGURATION_SCHEME {AVST X16} \
    PRESERVE_UNUSED_XCVR_CHANNEL ON] {
    set_global_assignment -name $name $value
}
