# SPDX-License-Identifier: Apache-2.0
"""The engine in a LiteX design: a core with AXI buses, and its way to LiteDRAM. Needs the extra [litex]."""
