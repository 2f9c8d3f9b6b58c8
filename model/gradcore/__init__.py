# SPDX-License-Identifier: Apache-2.0
"""gradcore: bit-exact reference, compiler and driver of the gradcore training engine. Importing it needs only NumPy."""

__version__ = "0.1.0"
