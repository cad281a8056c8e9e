# SPDX-License-Identifier: MIT
"""Checkers of the book's exercises: one module a chapter, and the parts that they share."""
