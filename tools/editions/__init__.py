# SPDX-License-Identifier: MIT
"""Other forms of the book: student, key, paper, slides, offline."""
