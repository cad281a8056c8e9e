# SPDX-License-Identifier: MIT
"""Time the stages of a check, and print them as a table.

Run: python tools/stage_times.py run NAME COMMAND ... runs a command and notes its minutes, in the
file that the variable STAGE_TIMES names; python tools/stage_times.py table prints what is noted.
Minutes on the clock depend on what else the machine does; minutes of processor time hardly do.
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path


def run(name: str, command: list[str], log: Path) -> int:
    """Run one stage and note how long it took, whether it failed or not.

    Args:
        name: What the table calls it; no tabs.
        command: Program and arguments.
        log: File to which a line is added.

    Returns:
        The command's exit status.
    """
    start, used = time.monotonic(), _processor_seconds()
    status = subprocess.run(command, check=False).returncode
    minutes = (time.monotonic() - start) / 60, (_processor_seconds() - used) / 60
    note = "" if status == 0 else f"failed with status {status}"
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{name}\t{minutes[0]:.4f}\t{minutes[1]:.4f}\t{note}\n")
    return status


def table(log: Path) -> str:
    """Write the noted stages and their sum.

    Args:
        log: File of `run`.

    Returns:
        Lines of text; the clock's minutes first, then the processor's.
    """
    rows = [line.split("\t") for line in log.read_text(encoding="utf-8").splitlines()]
    sums = [sum(float(row[column]) for row in rows) for column in (1, 2)]
    rows.append(["together", f"{sums[0]}", f"{sums[1]}", ""])
    width = max(len(row[0]) for row in rows)
    lines = [f"{'stage':<{width}}  minutes  processor minutes"]
    for name, clock, processor, note in rows:
        line = f"{name:<{width}}  {float(clock):>7.1f}  {float(processor):>17.1f}  {note}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def _processor_seconds() -> float:
    """Give the processor time of all finished children, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(arguments: list[str]) -> int:
    """Do what the command line says.

    Args:
        arguments: Without the program's name.

    Returns:
        Exit status.
    """
    log = Path(os.environ["STAGE_TIMES"])
    if arguments[:1] == ["run"] and len(arguments) > 2:
        return run(arguments[1], arguments[2:], log)
    if arguments == ["table"]:
        print(table(log))
        return 0
    print("expected: run NAME COMMAND ..., or table", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
