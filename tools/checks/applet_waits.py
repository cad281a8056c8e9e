# SPDX-License-Identifier: MIT
"""Time how long a reader waits for the models in the page: ``make bench``.

Two questions, both asked in a browser with an empty cache: how long from the moment an applet opens
to its first answer, from this machine's own server and through a line of 10 Mbit/s, and the
same for a further model that a choice inside the applet loads; and how long the next character of
GPT takes, with the key-value cache and without. Both sides are measured in turns. These are wall
times, since waiting is what is measured; no test asserts one. The result is
``benchmarks/waits.json``.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from tools.chapters.store import ROOT, ChapterError
from tools.checks import pages
from tools.editions import browsing

RECORD = ROOT / "benchmarks" / "waits.json"
N_PAIRS = 5
SLOW = {"offline": False, "latency": 20, "downloadThroughput": 10e6 / 8, "uploadThroughput": 1e6}
OPEN = """async (name) => {
  const applet = document.querySelector(name);
  const opened = new Promise((resolve) => applet.addEventListener("applet-open", resolve));
  const start = performance.now();
  applet.open();
  await opened;
  return performance.now() - start;
}"""
SPARING = """Object.defineProperty(navigator, "connection", { value: { saveData: true } });"""
OFFER_OTHER = ("generation", "mask-fill")  # the second model of their choice is fetched when chosen
CHOOSE = """async (name) => {
  const { shadowRoot } = document.querySelector(name);
  const choice = [...shadowRoot.querySelectorAll("select")].find((one) => one.options.length > 1);
  const start = performance.now();
  choice.value = choice.options[1].value;
  choice.dispatchEvent(new Event("change"));
  while (choice.disabled) await new Promise((resolve) => setTimeout(resolve, 5));
  return performance.now() - start;
}"""
NEXT = """async ({ root, version, cached }) => {
  globalThis.ptBook ??= { root, version, files: {} };
  const { getModel } = await import(`${root}ui/files.mjs${version}`);
  const { model, tokenizer } = await getModel("gpt_chars");
  const text = "O, what a rogue and peasant slave am I! Is it not monstrous that".slice(0, 48);
  const ids = tokenizer.encode(text);
  const cache = cached ? model.makeCache() : null;
  model.forward(ids, { cache });
  const times = [];
  for (let i = 0; i < 32; i++) {
    const start = performance.now();
    const next = tokenizer.encode("e");
    ids.push(...next);
    model.forward(cached ? next : ids, { cache });
    times.push(performance.now() - start);
  }
  return times;
}"""
TOLD = """() => {
  const { src, dataset } = document.querySelector('script[src*="applets/start.js"]');
  return { root: new URL("./", src).href, version: dataset.version };
}"""


def main(arguments: list[str] | None = None) -> int:
    """Time every applet of the built book and write the record; 1 without pages or a browser."""
    parser = argparse.ArgumentParser(description="Time how long a reader waits for the models.")
    parser.add_argument("html", nargs="?", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--to", type=Path, default=RECORD)
    parser.add_argument("--pairs", type=int, default=N_PAIRS)
    options = parser.parse_args(arguments)
    try:
        record = measure(options.html, options.pairs)
    except ChapterError as error:
        print(f"waits: {error}", file=sys.stderr)
        return 1
    options.to.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    for name, wait in record["applets"].items():
        print(f"{name:22s} {wait['own line']:7.0f} ms {wait['10 Mbit/s']:7.0f} ms")
    print("next character", record["next character"])
    return 0


def measure(html: Path, n_pairs: int) -> dict[str, Any]:
    """Measure all waits `n_pairs` times: medians in milliseconds, and the number of pairs.

    Raises:
        ChapterError: No page has an applet, or there is no browser.
    """
    found = applets(html)
    if not found:
        raise ChapterError(f"expected built pages with applets in {html}: make book builds them")
    with browsing.serve(html) as address, browsing.open_browser() as browser:
        waits = {
            label: opening(browser, f"{address}{page}", element, n_pairs)
            for label, (page, element) in found.items()
        }
        for label in OFFER_OTHER:
            page, element = found[label]
            waits[f"{label}, other model"] = opening(
                browser, f"{address}{page}", element, n_pairs, chosen=True
            )
        page = next(page for page, _ in found.values())
        return {
            "unit": "ms, median",
            "n_pairs": n_pairs,
            "applets": waits,
            "next character": next_character(browser, f"{address}{page}", n_pairs),
        }


def applets(html: Path) -> dict[str, tuple[str, str]]:
    """List the applets of built pages that open: name → page and element.

    For these a page keeps room; that of the front page answers at once. Where one name stands on
    two pages, the page is part of the name.
    """
    found = {}
    for page in sorted(pages.built_pages(html)) if html.is_dir() else []:
        for one in pages.parsed(html / page).select(".applet[style*=--room]"):
            name = one.name.removeprefix("pt-")
            found[f"{name} ({Path(page).stem})" if name in found else name] = (page, one.name)
    return found


def opening(
    browser: Browser, address: str, element: str, n_pairs: int, *, chosen: bool = False
) -> dict[str, float]:
    """Time from the press to the first answer, on either line in turns; `chosen`: see CHOOSE."""
    waits: dict[str, list[float]] = {"own line": [], "10 Mbit/s": []}
    for _ in range(n_pairs):
        for line, times in waits.items():
            throttled = line != "own line"
            times.append(_opened(browser, address, element, throttled=throttled, chosen=chosen))
    return {line: round(statistics.median(times), 1) for line, times in waits.items()}


def next_character(browser: Browser, address: str, n_pairs: int) -> dict[str, float]:
    """Time one more character of GPT after 48, with and without the cache, in turns."""
    waits: dict[str, list[float]] = {"with cache": [], "without": []}
    page = _ready(browser, address)
    told = page.evaluate(TOLD)
    for _ in range(n_pairs):
        for way, times in waits.items():
            found = page.evaluate(NEXT, {**told, "cached": way == "with cache"})
            times.append(statistics.median(found))
    page.context.close()
    return {way: round(statistics.median(times), 2) for way, times in waits.items()}


def _ready(browser: Browser, address: str) -> Page:
    """Open a page with an empty cache, its applets closed, and wait until it is at rest."""
    page = browser.new_context().new_page()
    page.add_init_script(SPARING)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return page


def _opened(browser: Browser, address: str, name: str, *, throttled: bool, chosen: bool) -> float:
    """Open one applet in a fresh page, or then choose its other model; return milliseconds."""
    page = _ready(browser, address)
    page.wait_for_function("(name) => customElements.get(name)", arg=name)
    if throttled:
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", SLOW)
    waited: float = page.evaluate(OPEN, name)
    if chosen:
        waited = page.evaluate(CHOOSE, name)
    page.context.close()
    return waited


if __name__ == "__main__":
    raise SystemExit(main())
