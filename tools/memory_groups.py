# SPDX-License-Identifier: MIT
"""A real limit of memory for a process and its children: a control group of Linux.

The kernel kills what goes beyond the limit, as a container's host does. Memory that is reserved and
never used does not count, as it would for RLIMIT_AS, under which torch does not even start. Both
versions of control groups are known. Who may not make a group, or is not on Linux, gets none, and
has to measure instead.
"""

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

MOUNTS = Path("/proc/self/mounts")
MEMBERSHIP = Path("/proc/self/cgroup")


@dataclass(frozen=True)
class _Version:
    """The names of one version's files."""

    limit: str
    swap: str
    swap_adds: bool
    """Whether the limit of swap is that of memory and swap together."""
    events: str
    peak: str


_VERSIONS = {
    "cgroup2": _Version("memory.max", "memory.swap.max", False, "memory.events", "memory.peak"),
    "cgroup": _Version(
        "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", True, "memory.oom_control",
        "memory.max_usage_in_bytes",
    ),
}  # fmt: skip


class MemoryGroup:
    """A control group whose processes share a limit of memory."""

    def __init__(self, folder: Path, version: _Version, limit: int) -> None:
        """Make the group.

        Args:
            folder: Its folder, not there yet, inside a hierarchy that limits memory.
            version: The names of its files.
            limit: Bytes that its processes may use together.

        Raises:
            OSError: It cannot be made here.
        """
        self.folder, self._version = folder, version
        folder.mkdir()
        try:
            self._write(version.limit, limit)
        except OSError:
            self.remove()
            raise
        with contextlib.suppress(OSError):  # a system without swap has no such file
            self._write(version.swap, limit if version.swap_adds else 0)

    @property
    def members(self) -> Path:
        """The file into which a process writes its id to join."""
        return self.folder / "cgroup.procs"

    def kills(self) -> int:
        """Count the processes that were killed for going beyond the limit."""
        lines = (self.folder / self._version.events).read_text().splitlines()
        found = dict(line.split(" ", 1) for line in lines)
        return int(found.get("oom_kill", 0))

    def peak_mb(self) -> float | None:
        """Tell the most memory in use at once, in megabytes; None where the kernel keeps none.

        Files that the system keeps in memory for the processes are part of it.
        """
        try:
            return int((self.folder / self._version.peak).read_text()) / 1e6
        except OSError:
            return None

    def remove(self) -> None:
        """Remove the group once its processes are gone; wait up to five seconds for that."""
        for _ in range(50):
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.1)

    def _write(self, name: str, value: int) -> None:
        """Write a setting that must be there: the file of another kind of group is not made."""
        with (self.folder / name).open("r+") as file:
            file.write(str(value))


def make_group(limit: int, name: str) -> MemoryGroup | None:
    """Make a group with a limit, below this process's own one or as near to it as is allowed.

    Args:
        limit: Bytes.
        name: Of its folder; unique.

    Returns:
        The group, or None where this process may make none.
    """
    for folder, version in _places():
        with contextlib.suppress(OSError):
            return MemoryGroup(folder / name, version, limit)
    return None


def _places() -> list[tuple[Path, _Version]]:
    """List the folders in which a group may be made, the nearest to this process first."""
    if not MEMBERSHIP.is_file() or not MOUNTS.is_file():
        return []
    places: list[tuple[Path, _Version]] = []
    for line in MEMBERSHIP.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory") and "memory" not in controllers.split(","):
            continue
        kind = "cgroup" if controllers else "cgroup2"
        for mount in _mounts(kind):
            own = mount / path.lstrip("/")
            above = [one for one in own.parents if one.is_relative_to(mount)]
            places += [(one, _VERSIONS[kind]) for one in (own, *above)]
    return places


def _mounts(kind: str) -> list[Path]:
    """List where hierarchies of a kind are mounted; of version 1, only that of memory."""
    rows = [line.split() for line in MOUNTS.read_text().splitlines()]
    found = [(Path(row[1]), row[3].split(",")) for row in rows if row[2] == kind]
    return [path for path, options in found if kind == "cgroup2" or "memory" in options]
