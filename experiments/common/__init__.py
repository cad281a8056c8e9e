# SPDX-License-Identifier: MIT
"""What the studies share."""
