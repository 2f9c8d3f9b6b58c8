# SPDX-License-Identifier: Apache-2.0
"""The engine, alone or behind a bus front, compiled into a library with its memory, and the back end that runs it."""
