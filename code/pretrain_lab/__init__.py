# SPDX-License-Identifier: MIT
"""What the studies need beside the models: one room a topic."""
