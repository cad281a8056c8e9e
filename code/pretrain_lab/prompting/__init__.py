# SPDX-License-Identifier: MIT
"""Tasks put into the prompt, and answers scored."""
