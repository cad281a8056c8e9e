# SPDX-License-Identifier: MIT
"""Make a trained model smaller: fewer bits, fewer weights."""
