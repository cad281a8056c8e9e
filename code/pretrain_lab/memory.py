# SPDX-License-Identifier: MIT
"""Keep a kernel small where memory is short, as in Binder."""

import contextlib
import ctypes
import gc


def return_freed_memory() -> None:
    """Collect what nobody holds any more, and give its memory back to the system.

    By default, glibc keeps freed blocks of up to 32 MB for later, so that a kernel that trains one
    model after another holds hundreds of megabytes that nobody uses. Elsewhere than on Linux with
    glibc, Python's garbage is collected and the rest is left to the system.
    """
    gc.collect()
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
