# SPDX-License-Identifier: MIT
"""How many labels pre-training saves."""
