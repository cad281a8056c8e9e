# SPDX-License-Identifier: MIT
"""Train any of the objectives on any text: `python -m pretrain_lab.train`."""
