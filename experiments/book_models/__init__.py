# SPDX-License-Identifier: MIT
"""Train the models that the book ships."""
