# SPDX-License-Identifier: MIT
"""What the single-file scripts hold besides the package's own code: see tools/make_scripts.py."""
