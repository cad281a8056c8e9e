# SPDX-License-Identifier: MIT
"""Side-by-side benchmarks: this book's code against published code and recipes.

`python -m benchmarks`, started from the repository's root, writes `benchmarks/results.json`.
"""
