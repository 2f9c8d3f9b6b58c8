# SPDX-License-Identifier: Apache-2.0
"""What software and RTL agree on: instruction fields, registers, layouts in memory, an engine's parameters."""
