# SPDX-License-Identifier: Apache-2.0
"""A bench without tests."""
