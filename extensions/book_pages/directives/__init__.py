# SPDX-License-Identifier: MIT
"""What a chapter's text may hold beside Markdown."""
