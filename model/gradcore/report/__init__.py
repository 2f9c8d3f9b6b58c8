# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind and what a benchmark says: figures, pictures, tables."""
