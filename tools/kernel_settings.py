# SPDX-License-Identifier: MIT
"""Start a kernel under stated settings: threads, cores, memory, user, folder and interpreter.

Each limit is a command in front of the kernel's own (``taskset``, ``setpriv``, a shell that joins a
group), which then becomes the kernel, so that the kernel keeps the process that was started. Only
Linux has these commands; threads, folder and interpreter can be chosen everywhere.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager

from chapters import NOTEBOOK_METADATA, ROOT
from memory_groups import MemoryGroup
from pretrain.sources import CACHE_VARIABLE, cache_folder

NOBODY = 65534
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Environment variables; torch takes its number of threads from the first."""
FOREIGN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONSTARTUP")
"""What belongs to the interpreter of these tools and would mislead another one."""
PROBE = """
import importlib.metadata, importlib.util, json, os, platform, sys
from pathlib import Path
import ipykernel, torch
root = Path(sys.argv[1])
found = importlib.util.find_spec("pretrain")
inside = found is not None and Path(found.origin).is_relative_to(root)
affinity = getattr(os, "sched_getaffinity", None)
now = {"effective_ids": True} if os.access in os.supports_effective_ids else {}
names = ("torch", "numpy", "matplotlib", "transformers", "ipykernel")
have = {one.metadata["Name"]: one.version for one in importlib.metadata.distributions()}
print(json.dumps({
    "versions": {"python": platform.python_version()} | {n: have.get(n, "none") for n in names},
    "threads": torch.get_num_threads(),
    "cores": len(affinity(0)) if affinity else os.cpu_count(),
    "package": "missing" if found is None else "this repository's" if inside else "another copy",
    "writable": [one.relative_to(root).as_posix() for one in [root / "data",
                 *sorted((root / "data").rglob("*"))] if os.access(one, os.W_OK, **now)][:3],
}))
"""


class SettingError(Exception):
    """A setting cannot be had here; the message says what it needs."""


@dataclass(frozen=True)
class Setting:
    """How a kernel is started."""

    threads: int = 1
    """For torch and the libraries below it."""
    place: str = "chapters"
    """Working folder: "chapters", or "root" of the repository."""
    one_core: bool = False
    memory_mb: float | None = None
    """Limit for the kernel and its children, megabytes of 10⁶ bytes; None = no limit."""
    read_only: bool = False
    """Whether the kernel's user may write nothing but a scratch folder."""
    python: str = sys.executable
    """Interpreter whose ipykernel runs the cells."""
    cell_seconds: int = 600
    """Longest time that a cell may take; the tests allow as much."""

    def __post_init__(self) -> None:
        """Refuse what no kernel can have.

        Raises:
            SettingError: No thread, no memory, or no such interpreter.
        """
        if self.threads < 1 or (self.memory_mb is not None and not self.memory_mb > 0):
            raise SettingError(
                f"expected threads >= 1 and memory > 0, got {self.threads} and {self.memory_mb} MB"
            )
        if shutil.which(self.python) is None:
            raise SettingError(f"expected an interpreter, but {self.python} is no program")

    def label(self) -> str:
        """Name the setting in a few words, for a line or a file name."""
        words = [f"{self.threads} thread{'s' * (self.threads > 1)}", f"from {self.place}"]
        words += ["one core"] if self.one_core else []
        words += [f"{self.memory_mb:.0f} MB"] if self.memory_mb else []
        words += ["read-only data"] if self.read_only else []
        words += [] if self.python == sys.executable else ["foreign Python"]
        return ", ".join(words)


def folder_of(setting: Setting, root: Path = ROOT) -> Path:
    """Return the working folder of a setting."""
    return root if setting.place == "root" else root / "chapters"


def wrapped(
    command: list[str], setting: Setting, *, group: MemoryGroup | None = None, owned: str = ""
) -> list[str]:
    """Put a setting's limits in front of a command.

    Args:
        command: Program and arguments.
        setting: The limits.
        group: A limit of memory that the command shall join; None = none.
        owned: A file that the command must own, handed over first where the user changes.

    Returns:
        A command that keeps its process when it becomes the given one.

    Raises:
        SettingError: A limit needs another system, or the rights of root.
    """
    before: list[str] = []
    if group:
        before += ["sh", "-c", f'echo $$ > "{group.members}" && exec "$@"', "sh"]
    if setting.one_core:
        core = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
        before += [_program("taskset"), "--cpu-list", str(core)]
    if setting.read_only:
        if owned:
            before += ["sh", "-c", f'chown {NOBODY} "$0" && exec "$@"', owned]
        before += _as_nobody()
    return [*before, *command]


def environment(setting: Setting, home: Path) -> dict[str, str]:
    """Make the environment variables of a kernel.

    Args:
        setting: Its threads, interpreter and user.
        home: A folder of its own, in which a user without rights may write.

    Returns:
        Names and values.
    """
    made = {key: value for key, value in os.environ.items() if key not in FOREIGN}
    made |= dict.fromkeys(THREADS, str(setting.threads))
    if setting.threads > (os.cpu_count() or 1):
        made["MKL_DYNAMIC"] = "FALSE"  # or torch takes no more threads than there are cores
    made["PATH"] = f"{Path(setting.python).parent}{os.pathsep}{made.get('PATH', '')}"
    made["PYTHONDONTWRITEBYTECODE"] = "1"
    if setting.read_only:
        made = {key: value for key, value in made.items() if not key.startswith("XDG_")}
        made |= {CACHE_VARIABLE: str(cache_folder().resolve()), "HOME": str(home)}
        made |= {"TMPDIR": str(home), "MPLCONFIGDIR": str(home / "matplotlib")}
        made |= {"IPYTHONDIR": str(home / "ipython"), "JUPYTER_RUNTIME_DIR": str(home / "runtime")}
    return made


def make_home(setting: Setting, folder: Path) -> Path:
    """Make a fresh home for one kernel, which belongs to the kernel's user.

    Args:
        setting: Whether the user changes.
        folder: Where; others may pass through it.

    Returns:
        The home.
    """
    home = Path(tempfile.mkdtemp(dir=folder, prefix="home-"))
    if setting.read_only:
        os.chown(home, NOBODY, NOBODY)
    return home


def make_manager(setting: Setting, folder: Path, group: MemoryGroup | None) -> AsyncKernelManager:
    """Make what starts the kernel of a setting.

    Args:
        setting: The limits and the interpreter.
        folder: For the kernel's description and connection; others may pass through it.
        group: The limit of memory; None = none.

    Returns:
        A manager with no kernel yet.

    Raises:
        SettingError: A limit cannot be had here.
    """
    name = NOTEBOOK_METADATA["kernelspec"]["name"]
    kernel = [setting.python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    argv = wrapped(kernel, setting, group=group, owned="{connection_file}")
    spec = folder / "kernels" / name / "kernel.json"
    spec.parent.mkdir(parents=True, exist_ok=True)
    described = {"argv": argv, "display_name": "Python 3", "language": "python"}
    spec.write_text(json.dumps(described), encoding="utf-8")
    specs = KernelSpecManager(kernel_dirs=[str(spec.parents[1])], ensure_native_kernel=False)
    manager = AsyncKernelManager(kernel_name=name, kernel_spec_manager=specs)
    manager.connection_file = str(folder / f"connection-{os.urandom(4).hex()}.json")
    return manager


def probe(setting: Setting, folder: Path, root: Path = ROOT) -> dict[str, Any]:
    """Ask the interpreter, started as the kernel will be, what it sees.

    Args:
        setting: The limits, that of memory apart.
        folder: For a home; others may pass through it.
        root: The repository.

    Returns:
        "versions" of Python and packages, "threads" of torch, "cores", whose "package" `pretrain`
        is, and the first files below data/ that are "writable".

    Raises:
        SettingError: It cannot be started, or lacks torch or ipykernel.
    """
    home = make_home(setting, folder)
    done = subprocess.run(
        wrapped([setting.python, "-c", PROBE, str(root)], setting),
        env=environment(setting, home), cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise SettingError(f"{setting.python} cannot be a kernel ({setting.label()}): {said}")
    seen: dict[str, Any] = json.loads(done.stdout)
    if setting.read_only and seen["writable"]:
        raise SettingError(f"data/ can still be written: {', '.join(seen['writable'])}, …")
    return seen


def _as_nobody() -> list[str]:
    """Make the command that gives up root's rights, but for reading where that can be kept."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        raise SettingError("--read-only-data changes the user, which only root may do")
    user = [_program("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    reading = [*user, "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    may = subprocess.run([*reading, "true"], capture_output=True, check=False).returncode == 0
    return reading if may else user


def _program(name: str) -> str:
    """Find a program, or say what lacks it."""
    found = shutil.which(name)
    if found is None:
        raise SettingError(f"this setting needs the command {name} (util-linux), which is missing")
    return found
