# SPDX-License-Identifier: Apache-2.0
"""Fixed-point numbers and random numbers by position: integers only."""
