# SPDX-License-Identifier: MIT
"""From text to ids and back."""
