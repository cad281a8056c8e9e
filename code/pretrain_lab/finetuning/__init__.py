# SPDX-License-Identifier: MIT
"""From a pre-trained network to a task: heads, adapters, text to text."""
