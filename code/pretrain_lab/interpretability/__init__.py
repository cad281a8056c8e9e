# SPDX-License-Identifier: MIT
"""Look inside a trained network: states, heads, probes, bias."""
