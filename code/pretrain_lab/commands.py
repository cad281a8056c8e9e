# SPDX-License-Identifier: MIT
"""What can go wrong in a command that is nobody's bug, told in one line."""

import errno
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from safetensors import SafetensorError

from pretrain_lab.corpora.download import SourceError
from pretrain_lab.run_state import CheckpointError

REFUSED = (CheckpointError, SourceError, OSError, SafetensorError, ModuleNotFoundError)
"""Errors of files, disks, networks and missing packages."""


def one_line(error: BaseException) -> str:
    """Say in one line what an error says, and what to do where that can be known."""
    text = " ".join(str(error).split()) or type(error).__name__
    is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    if is_full or "No space left" in text:
        return f"the disk is full ({text}); what was there before is as it was"
    if isinstance(error, ModuleNotFoundError):
        return f"expected the package {error.name}: pip install {error.name}"
    return text


def run_command(main: Callable[[], int]) -> NoReturn:
    """Leave Python with a command's exit code, also where nobody reads on, as after `| head -1`."""
    code = 0
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # at its end Python would try again, and say so
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
