# SPDX-License-Identifier: MIT
"""The texts: fetched by hash, cleaned, split by play and by film."""
