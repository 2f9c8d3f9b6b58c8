# SPDX-License-Identifier: Apache-2.0
"""Models of other frameworks as a network with weights, and back. A framework is imported when it is used."""
