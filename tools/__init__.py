# SPDX-License-Identifier: MIT
"""The book's own commands: `python -m tools.ROOM.NAME`."""
