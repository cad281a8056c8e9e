# SPDX-License-Identifier: MIT
"""Serve built pages to a Chromium of this machine, for the browser tests and the weight report.

Playwright drives the browser; it never downloads one. The pages come from a small server in a
thread of its own, at an address that only this machine can reach.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tools.editions.building import find_browser

NO_OTHER_HOST = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
SETTLED = """async () => {
  const drawn = (then) => requestAnimationFrame(() => requestAnimationFrame(then));
  const settled = document.fonts.ready.then(() => new Promise(drawn));
  await Promise.race([settled, new Promise((then) => setTimeout(then, 5000))]);
}"""
"""A function for an open page: it returns once its fonts are there and it is drawn.

A window that the browser does not draw would wait for ever, so it returns after five seconds.
"""


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start the machine's Chromium without a window, and yield it.

    It runs without its sandbox, which a container's administrator cannot have, and resolves no
    host's name: what a page asks of another host fails instead of leaving the machine.

    Raises:
        ChapterError: There is no Chromium; the message says what to install.
    """
    path = find_browser()
    options = [NO_OTHER_HOST, "--disable-gpu", "--disable-dev-shm-usage"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=options, chromium_sandbox=False
        )
        yield browser
        browser.close()


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder over HTTP; yield its address, with a slash at its end.

    Raises:
        FileNotFoundError: There is no such folder.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"expected a folder with pages, got {folder}")
    server = _Server(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    """A server that does not mind a browser that hangs up."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Report what went wrong, unless the browser closed the connection."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Quiet(SimpleHTTPRequestHandler):
    """A handler that keeps connections open and writes no log."""

    protocol_version = "HTTP/1.1"
    extensions_map = {  # noqa: RUF012 – the base class has a plain dict
        **SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".woff2": "font/woff2",
    }

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
