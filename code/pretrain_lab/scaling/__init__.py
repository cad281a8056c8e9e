# SPDX-License-Identifier: MIT
"""Costs in floating-point operations, and laws fitted to many runs."""
