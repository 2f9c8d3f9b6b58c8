# SPDX-License-Identifier: Apache-2.0
"""Commands of the command line, a module for each group; `gradcore.cli` puts them together."""
