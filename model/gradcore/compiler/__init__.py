# SPDX-License-Identifier: Apache-2.0
"""From a network and an engine to memory map, programs and memory image."""

from gradcore.compiler.compile import CompiledNetwork, CompiledProgram, CompileError, compile_network

__all__ = ["CompileError", "CompiledNetwork", "CompiledProgram", "compile_network"]
