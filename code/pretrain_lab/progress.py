# SPDX-License-Identifier: MIT
"""Whether a person watches what runs."""

import sys
from typing import Any


def is_interactive() -> bool:
    """Tell whether a person's front end runs this cell, not a script or a notebook runner.

    Front ends let the cell ask for input (``allow_stdin`` of the Jupyter message); the programs
    that execute chapters for the book and for its tests do not.

    Returns:
        True in JupyterLab, Notebook, VS Code or Colab; False in scripts and in notebook runners.
    """
    get_parent = getattr(getattr(running_shell(), "kernel", None), "get_parent", None)
    if get_parent is None:
        return False
    return bool(get_parent("shell").get("content", {}).get("allow_stdin", False))


def running_shell() -> Any:
    """Return the running IPython shell, or None in a plain script."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()
