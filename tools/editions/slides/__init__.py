# SPDX-License-Identifier: MIT
"""The two lecture decks."""
