# SPDX-License-Identifier: MIT
"""A progress bar while a model trains, where a person watches."""

import sys
from typing import Any

from tqdm.auto import tqdm

from pretrain.training import Hook, Run


class ProgressBar(Hook):
    """Show the steps done and the last loss, in a terminal or in a notebook's front end.

    Elsewhere nothing is shown, so that no stored output ever holds a bar.
    """

    def begin(self, run: Run) -> None:
        """Draw the bar, or none."""
        self.bar = tqdm(total=run.n_steps, initial=run.step, disable=not is_watched(), unit="step")

    def after_step(self, run: Run) -> None:
        """Move it by one step."""
        self.bar.update()
        self.bar.set_postfix(loss=f"{run.history.losses[-1]:.3f}", refresh=False)

    def end(self, run: Run) -> None:
        """Let it stand as it is."""
        self.bar.close()


def is_watched() -> bool:
    """Tell whether a person sees what is drawn: in a terminal, or in a notebook's front end."""
    return is_interactive() or sys.stderr.isatty()


def is_interactive() -> bool:
    """Tell whether a person's front end runs this cell, not a script or a notebook runner.

    Front ends (JupyterLab, Notebook, VS Code, Colab) let the cell ask for input (``allow_stdin`` of
    the Jupyter message); the programs that execute chapters for the book and for its tests do not.
    """
    get_parent = getattr(getattr(running_shell(), "kernel", None), "get_parent", None)
    if get_parent is None:
        return False
    return bool(get_parent("shell").get("content", {}).get("allow_stdin", False))


def running_shell() -> Any:
    """Return the running IPython shell, or None in a plain script."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()
