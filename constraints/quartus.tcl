# SPDX-License-Identifier: Apache-2.0
# Every port but the clock is a virtual pin: the top has more ports than the device pins. A plain * would be matched against every node.
foreach ports {rsi_* avs_* avm_* ins_*} {
    set_instance_assignment -name VIRTUAL_PIN ON -to $ports
}
