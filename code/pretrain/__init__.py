# SPDX-License-Identifier: MIT
"""Attention blocks, masks, objectives and training loops of the book."""
