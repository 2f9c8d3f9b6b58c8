# SPDX-License-Identifier: Apache-2.0
"""The engines that tests share: to compile one takes half a minute, and it runs every network that fits."""

from dataclasses import replace

from gradcore.isa.config import EngineConfig

SMALL = EngineConfig(grid=4, cols=4, mem_bytes=16, act_depth=256, wgt_depth=256, grad_depth=256, gate_depth=512)
# Words of other than whole bytes.
NARROW = EngineConfig(
    grid=4, cols=8, data_width=11, mem_bytes=64, act_depth=256, wgt_depth=256, grad_depth=256, gate_depth=512
)
# Room for whole networks. A scrub takes as many cycles as the deepest buffer has rows.
DEEPER = dict(act_depth=1024, wgt_depth=2048, grad_depth=2048, gate_depth=4096)
WIDE = EngineConfig(grid=4, cols=8, mem_bytes=16, **DEEPER)
BYTES = EngineConfig(grid=4, cols=4, data_width=8, mem_bytes=8, **DEEPER)
# Without the parts that can be left out.
BARE = replace(BYTES, has_vector=0, has_softmax=0, has_factor=0)
# Nothing fits as a whole: every buffer at its least depth.
TINY = EngineConfig(grid=4, cols=4, mem_bytes=64, act_depth=64, wgt_depth=16, grad_depth=16, gate_depth=64)
