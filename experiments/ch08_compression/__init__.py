# SPDX-License-Identifier: MIT
"""Models as compressors."""
