# SPDX-License-Identifier: MIT
"""Numbers, citations, access, print."""
