# SPDX-License-Identifier: Apache-2.0
# The system that qsys-script has made from platform.tcl is the top of the project; its engine is found where `make package` has put it.
if {![info exists env(GRADCORE_PACKAGE)]} {error "set GRADCORE_PACKAGE to the folder that make package has written"}
set_global_assignment -name QSYS_FILE gradcore_s10gx.qsys
set_global_assignment -name IP_SEARCH_PATHS $env(GRADCORE_PACKAGE)
