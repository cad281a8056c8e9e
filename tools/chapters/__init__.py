# SPDX-License-Identifier: MIT
"""Write, run and check the notebooks."""
