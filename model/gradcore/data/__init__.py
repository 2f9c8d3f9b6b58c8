# SPDX-License-Identifier: Apache-2.0
"""Readers of data sets, and the way of images into the network's input format."""
