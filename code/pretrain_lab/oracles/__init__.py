# SPDX-License-Identifier: MIT
"""Sources whose best possible loss is known."""
