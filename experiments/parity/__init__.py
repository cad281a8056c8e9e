# SPDX-License-Identifier: MIT
"""How far our models agree with the published classes."""
