# SPDX-License-Identifier: MIT
"""The studies behind the chapters: `python -m experiments.STUDY` writes a record in data/runs."""
