# SPDX-License-Identifier: MIT
"""Pairs of sentences and speeches, and what the book's strong GPT makes of them."""
