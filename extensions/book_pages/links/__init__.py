# SPDX-License-Identifier: MIT
"""What the build links, and what stands around the text."""
