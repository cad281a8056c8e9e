# SPDX-License-Identifier: MIT
"""The reference card is what it promises: one printed page."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.skipif(BROWSER is None, reason="no chromium here to print with")
def test_the_card_prints_on_one_page(html: Path, tmp_path: Path):
    printed = tmp_path / "card.pdf"
    page = html / "chapters" / "reference_card.html"
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu"]
    command += ["--virtual-time-budget=10000", "--no-pdf-header-footer"]
    command += [f"--print-to-pdf={printed}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    pages = re.findall(rb"/Type\s*/Page[^s]", printed.read_bytes())
    assert len(pages) == 1
