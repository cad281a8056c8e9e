# SPDX-License-Identifier: MIT
"""Labelled tasks made from the texts, and rules that solve them without a model."""
