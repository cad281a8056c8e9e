# SPDX-License-Identifier: MIT
"""Run a script as if nothing but torch and the standard library were installed.

Used as `python -I -S tools/bare_run.py SCRIPT ARGUMENTS`: -I leaves the environment and the folder
out, -S the installed packages, editable ones among them. Of these, torch and what it needs itself
come back; every other import fails, NumPy's and the book's package's too.
"""

import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

OF_TORCH = {
    "torch", "torchgen", "functorch", "typing_extensions", "sympy", "mpmath", "networkx",
    "jinja2", "markupsafe", "fsspec", "filelock", "setuptools", "triton", "nvidia",
}  # fmt: skip


class TorchAlone:
    """Finds torch and its own needs in the environment's folder of packages."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of torch; None leaves it to the other finders, which know none.

        Args:
            name: Full name.
            path: Folders of the parent package; None = a package at the top.
            target: Ignored.

        Returns:
            Where it is.
        """
        if name.split(".")[0] not in OF_TORCH:
            return None
        packages = Path(sys.executable).parents[1] / "lib"
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        return PathFinder.find_spec(name, path or [str(packages / version / "site-packages")])


def main() -> None:
    """Block what is not torch's, then run the script."""
    sys.meta_path.append(TorchAlone())
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
