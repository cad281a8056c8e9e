# SPDX-License-Identifier: MIT
"""What the games in the pages ask, and what the models answered."""
