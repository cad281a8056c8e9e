# SPDX-License-Identifier: MIT
"""Intervals and scores."""
