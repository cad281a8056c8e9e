"""The small functions of the extension and of the setup."""

import http.server
import threading
from collections.abc import Iterator

import pytest

import torch_index
from book_pages.benchmarks import table_lines
from book_pages.numbering import chapter_number
from book_pages.receipts import duration, memory


@pytest.mark.parametrize(
    ("docname", "number"),
    [
        ("chapters/04_gpt", 4),
        ("chapters/12_wide", 12),
        ("chapters/index", None),
        ("04x", None),
        ("chapters/90_agreement", None),
        ("chapters/00_first_fine_tuning", None),
    ],
)
def test_chapter_number_is_read_from_the_file_name(docname: str, number: int | None):
    assert chapter_number(docname) == number


def test_durations_and_sizes_read_well():
    assert [duration(7.4), duration(60), duration(104.7)] == ["7 s", "1 min 0 s", "1 min 45 s"]
    assert [memory(314), memory(1894)] == ["314 MB", "1.9 GB"]


def test_benchmarks_become_a_table():
    row = {"name": "step", "ours": 0.01234, "peer": 12345.6, "ratio": None, "unit": "s", "n": 5}
    assert table_lines([row])[2:] == ["| step | 0.0123 | 12,346 | – | s |"]


@pytest.fixture
def index() -> Iterator[str]:
    """The address of a package index that knows torch and answers at once."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/cpu/torch/" else 404)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch):
    """Ask the local index directly."""
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")


def test_torch_index_that_answers_is_used(index: str):
    assert torch_index.pip_option(f"{index}/cpu") == f"--extra-index-url {index}/cpu"


def test_torch_index_without_torch_is_not_used(index: str):
    assert torch_index.pip_option(f"{index}/other") == ""


@pytest.mark.parametrize("address", ["", "http://127.0.0.1:9", "no address"])
def test_torch_index_that_does_not_answer_is_not_used(address: str):
    assert torch_index.pip_option(address, seconds=0.5) == ""
