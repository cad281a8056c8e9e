# SPDX-License-Identifier: MIT
"""Models that count: what a network must beat."""
