# SPDX-License-Identifier: MIT
"""The studies of chapter 7: three objectives beside each other."""
