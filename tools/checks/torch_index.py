# SPDX-License-Identifier: MIT
"""Print the pip option that leads to PyTorch's CPU builds, when their index answers.

On Linux the ordinary index offers PyTorch with gigabytes of CUDA libraries. PyTorch's own index
has builds for the processor alone. It is used when it answers within a few seconds; otherwise
this prints nothing and pip takes the ordinary build. One setting changes it: the environment
variable ``TORCH_INDEX`` (an index's address; empty = the ordinary index).

    pip install -r requirements.txt $(python -m tools.checks.torch_index)
"""

import os
import urllib.request

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
SECONDS = 5.0


def pip_option(index: str, seconds: float = SECONDS) -> str:
    """Return ``--extra-index-url ADDRESS``, or nothing when the index is "" or does not answer.

    `seconds` is how long to wait for its page about torch.
    """
    if not index:
        return ""
    try:
        with urllib.request.urlopen(f"{index.rstrip('/')}/torch/", timeout=seconds):
            return f"--extra-index-url {index}"
    except (OSError, ValueError):  # no network, refused, not found, no address
        return ""


if __name__ == "__main__":
    print(pip_option(os.environ.get("TORCH_INDEX", CPU_INDEX)))
