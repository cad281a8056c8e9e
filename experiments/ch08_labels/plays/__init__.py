# SPDX-License-Identifier: MIT
"""The same for sentences of plays and the book's strong GPT."""
