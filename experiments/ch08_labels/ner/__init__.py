# SPDX-License-Identifier: MIT
"""The same for names in plays."""
