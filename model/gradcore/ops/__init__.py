# SPDX-License-Identifier: Apache-2.0
"""The mathematics of every operator, exact on integers, the same in floating point."""
