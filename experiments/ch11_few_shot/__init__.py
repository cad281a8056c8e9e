# SPDX-License-Identifier: MIT
"""The studies of chapter 11."""
