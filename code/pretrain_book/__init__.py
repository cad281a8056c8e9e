# SPDX-License-Identifier: MIT
"""The furniture of the notebooks: numbers, figures, widgets, exercises."""
