# SPDX-License-Identifier: MIT
"""Where numbers, outputs and times come from."""
