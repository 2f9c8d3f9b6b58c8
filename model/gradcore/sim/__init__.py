# SPDX-License-Identifier: Apache-2.0
"""The engine compiled into a library with its memory, and the back end that runs it."""
