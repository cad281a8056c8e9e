# SPDX-License-Identifier: MIT
"""What chapter 4 says of the character GPT."""
