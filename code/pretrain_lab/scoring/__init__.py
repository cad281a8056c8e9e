# SPDX-License-Identifier: MIT
"""One question, three models: scores that may be compared."""
