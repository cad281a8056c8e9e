# SPDX-License-Identifier: MIT
"""The study of chapter 15: search over Shakespeare, by meaning and by words."""
