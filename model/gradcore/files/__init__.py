# SPDX-License-Identifier: Apache-2.0
"""Reading what somebody else may have written, and writing files that are whole or not there."""
