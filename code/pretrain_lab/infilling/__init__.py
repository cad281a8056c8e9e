# SPDX-License-Identifier: MIT
"""Write what is missing in the middle of a text."""
