# SPDX-License-Identifier: MIT
"""What a change of genre costs."""
