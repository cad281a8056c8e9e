# SPDX-License-Identifier: MIT
"""Published weights, tokenizers and texts, and how ours agree with them."""
