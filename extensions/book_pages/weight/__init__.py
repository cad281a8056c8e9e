# SPDX-License-Identifier: MIT
"""Pages that load little, and from nowhere else."""
