# SPDX-License-Identifier: MIT
"""The study of chapter 12."""
