# SPDX-License-Identifier: MIT
"""What is measured of the built pages."""
