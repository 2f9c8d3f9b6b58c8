# SPDX-License-Identifier: Apache-2.0
"""Training on an engine: device, back ends, training loop, checkpoints."""
