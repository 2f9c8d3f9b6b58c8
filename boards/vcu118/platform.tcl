# SPDX-License-Identifier: Apache-2.0
# The block design gc_vcu118_platform in the open project: XDMA (registers, access to the memory, interrupt), DDR4 controller of bank C1, one
# interconnect. Its ports are those of stub/gc_vcu118_platform.v. Needs the VCU118's board files.
set board [lindex [lsort [get_board_parts *:vcu118:*]] end]
if {$board eq ""} {error "no board files of the VCU118 in this Vivado"}
set_property board_part $board [current_project]

set mem_w 512;      # as in gc_vcu118.v
set addr_w 40

create_bd_design gc_vcu118_platform

# PCI Express, 4 lanes of generation 2: 128 bits at 125 MHz, the clock of everything but the memory.
create_bd_cell -type ip -vlnv xilinx.com:ip:util_ds_buf refclk
set_property -dict {CONFIG.C_BUF_TYPE IBUFDSGTE CONFIG.DIFF_CLK_IN_BOARD_INTERFACE pcie_refclk} [get_bd_cells refclk]
create_bd_cell -type ip -vlnv xilinx.com:ip:xdma xdma
set_property -dict {
    CONFIG.PCIE_BOARD_INTERFACE pci_express_x4  CONFIG.SYS_RST_N_BOARD_INTERFACE pcie_perstn
    CONFIG.pl_link_cap_max_link_speed 5.0_GT/s  CONFIG.axi_data_width 128_bit  CONFIG.axisten_freq 125
    CONFIG.xdma_axi_intf_mm AXI_Memory_Mapped  CONFIG.xdma_rnum_chnl 1  CONFIG.xdma_wnum_chnl 1
    CONFIG.axilite_master_en true  CONFIG.axilite_master_scale Kilobytes  CONFIG.axilite_master_size 4  CONFIG.xdma_num_usr_irq 1
} [get_bd_cells xdma]
connect_bd_net [get_bd_pins refclk/IBUF_DS_ODIV2] [get_bd_pins xdma/sys_clk]
connect_bd_net [get_bd_pins refclk/IBUF_OUT] [get_bd_pins xdma/sys_clk_gt]

# The newest name of the memory bank that these board files have.
create_bd_cell -type ip -vlnv xilinx.com:ip:ddr4 ddr4
set bank [lindex [lsort [get_board_part_interfaces ddr4_sdram_c1*]] end]
set_property CONFIG.C0.DDR4_AxiSelection true [get_bd_cells ddr4]
set_property CONFIG.C0_CLOCK_BOARD_INTERFACE default_250mhz_clk1 [get_bd_cells ddr4]
set_property CONFIG.C0_DDR4_BOARD_INTERFACE $bank [get_bd_cells ddr4]
set_property CONFIG.RESET_BOARD_INTERFACE reset [get_bd_cells ddr4]

# Reset of the memory's side of the interconnect.
create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset memory_reset
connect_bd_net [get_bd_pins ddr4/c0_ddr4_ui_clk] [get_bd_pins memory_reset/slowest_sync_clk]
connect_bd_net [get_bd_pins ddr4/c0_ddr4_ui_clk_sync_rst] [get_bd_pins memory_reset/ext_reset_in]
connect_bd_net [get_bd_pins memory_reset/peripheral_aresetn] [get_bd_pins ddr4/c0_ddr4_aresetn]

create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect interconnect
set_property -dict {CONFIG.NUM_SI 2 CONFIG.NUM_MI 1 CONFIG.NUM_CLKS 2} [get_bd_cells interconnect]
connect_bd_net [get_bd_pins xdma/axi_aclk] [get_bd_pins interconnect/aclk]
connect_bd_net [get_bd_pins ddr4/c0_ddr4_ui_clk] [get_bd_pins interconnect/aclk1]
connect_bd_net [get_bd_pins xdma/axi_aresetn] [get_bd_pins interconnect/aresetn]
connect_bd_intf_net [get_bd_intf_pins xdma/M_AXI] [get_bd_intf_pins interconnect/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins interconnect/M00_AXI] [get_bd_intf_pins ddr4/C0_DDR4_S_AXI]

# What goes to the board.
foreach {name mode type pin} {
    default_250mhz_clk1 Slave  diff_clock  ddr4/C0_SYS_CLK
    ddr4_sdram_c1       Master ddr4        ddr4/C0_DDR4
    pcie_refclk         Slave  diff_clock  refclk/CLK_IN_D
    pci_express_x4      Master pcie_7x_mgt xdma/pcie_mgt
} {
    create_bd_intf_port -mode $mode -vlnv xilinx.com:interface:${type}_rtl:1.0 $name
    connect_bd_intf_net [get_bd_intf_ports $name] [get_bd_intf_pins $pin]
}
foreach {name direction type pin} {
    reset       I rst ddr4/sys_rst
    pcie_perstn I rst xdma/sys_rst_n
} {
    create_bd_port -dir $direction -type $type $name
    connect_bd_net [get_bd_ports $name] [get_bd_pins $pin]
}
set_property CONFIG.POLARITY ACTIVE_HIGH [get_bd_ports reset]
set_property CONFIG.FREQ_HZ 250000000 [get_bd_intf_ports default_250mhz_clk1]
set_property CONFIG.FREQ_HZ 100000000 [get_bd_intf_ports pcie_refclk]

# What goes to the engine.
foreach {name direction type pin} {
    aclk       O clk   xdma/axi_aclk
    aresetn    O rst   xdma/axi_aresetn
    irq        I intr  xdma/usr_irq_req
    link_up    O other xdma/user_lnk_up
    calibrated O other ddr4/c0_init_calib_complete
} {
    create_bd_port -dir $direction -type $type $name
    connect_bd_net [get_bd_ports $name] [get_bd_pins $pin]
}
set_property CONFIG.SENSITIVITY LEVEL_HIGH [get_bd_ports irq]
create_bd_intf_port -mode Master -vlnv xilinx.com:interface:aximm_rtl:1.0 M_AXIL
set_property -dict {CONFIG.PROTOCOL AXI4LITE CONFIG.ADDR_WIDTH 32 CONFIG.DATA_WIDTH 32} [get_bd_intf_ports M_AXIL]
connect_bd_intf_net [get_bd_intf_pins xdma/M_AXI_LITE] [get_bd_intf_ports M_AXIL]
create_bd_intf_port -mode Slave -vlnv xilinx.com:interface:aximm_rtl:1.0 S_AXI
set_property -dict [list CONFIG.PROTOCOL AXI4 CONFIG.ADDR_WIDTH $addr_w CONFIG.DATA_WIDTH $mem_w CONFIG.ID_WIDTH 1 CONFIG.HAS_QOS 0 \
    CONFIG.HAS_REGION 0 CONFIG.SUPPORTS_NARROW_BURST 0 CONFIG.MAX_BURST_LENGTH 32] [get_bd_intf_ports S_AXI]
connect_bd_intf_net [get_bd_intf_ports S_AXI] [get_bd_intf_pins interconnect/S01_AXI]
foreach port [list [get_bd_ports aclk] [get_bd_intf_ports M_AXIL] [get_bd_intf_ports S_AXI]] {set_property CONFIG.FREQ_HZ 125000000 $port}
set_property CONFIG.ASSOCIATED_BUSIF M_AXIL:S_AXI [get_bd_ports aclk]
set_property CONFIG.ASSOCIATED_RESET aresetn [get_bd_ports aclk]

# The memory from 0 on for both masters, the registers from 0 on in their BAR.
assign_bd_address -offset 0 -range 4K -target_address_space [get_bd_addr_spaces xdma/M_AXI_LITE] [get_bd_addr_segs M_AXIL/Reg]
foreach master {xdma/M_AXI S_AXI} {
    assign_bd_address -offset 0 -range 2G -target_address_space [get_bd_addr_spaces $master] \
        [get_bd_addr_segs ddr4/C0_DDR4_MEMORY_MAP/C0_DDR4_ADDRESS_BLOCK]
}
validate_bd_design
save_bd_design
generate_target all [get_files gc_vcu118_platform.bd]
