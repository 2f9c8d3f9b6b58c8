# SPDX-License-Identifier: Apache-2.0
# Out of context: no I/O buffers at the ports, the top becomes a part of a larger design.
set_property -name {STEPS.SYNTH_DESIGN.ARGS.MORE OPTIONS} -value {-mode out_of_context} -objects [get_runs synth_1]
