# SPDX-License-Identifier: MIT
"""One short program a paradigm; `tools.editions.scripts` adds to each what it needs."""
