# SPDX-License-Identifier: MIT
"""Which line of Shakespeare is meant? Search by meaning, by words, and by both.

Writes data/runs/your_own.json. The 14 plays of 24 famous lines, cut into pieces of a sentence or
less, are searched with 24 modern paraphrases of these lines, and with 24 queries of two or three
remembered words (data/search_queries.toml, written before any search ran), by vectors of
all-MiniLM-L6-v2, by BM25 and by their fused ranks. Twelve free queries, for which no line is right,
are answered for the page.

About 5 CPU-minutes. `--quick` searches two plays and writes nothing.
"""

import argparse
import json
import tomllib
from functools import partial
from typing import Any

import numpy as np

from experiments.ch15_your_own.search import Scores, bm25, cut_play, embed, fused, rank_of
from experiments.common.records import Clock, write_run
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.hub.models import load_minilm
from pretrain_lab.paths import data_file

FREE = (
    "a man mad with jealousy",
    "I cannot sleep at night",
    "she fell into the river and drowned",
    "it is freezing outside",
    "this wine is excellent",
    "my boss does not pay me enough",
    "children should listen to their parents",
    "he talks too much",
    "I miss my home country",
    "money is the root of evil",
    "do not trust the weather forecast",
    "let us all go to the lawyer",
)
KINDS = ("paraphrase", "words")


def main() -> None:
    """Search, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a trial that writes nothing")
    clock, quick = Clock(), parser.parse_args().quick
    queries = tomllib.loads(data_file("search_queries.toml").read_text())["query"]
    if quick:
        queries = [query for query in queries if query["play"] in ("othello", "hamlet")]
    sources = {query["play"] for query in queries}
    plays = [play for play in load_shakespeare() if play.slug in sources]
    pieces = [(play.title, piece) for play in plays for piece in cut_play(play)]
    record = study(pieces, queries)
    if quick:
        print(json.dumps(record, indent=1))
    else:
        write_run("your_own", record, clock)


def study(pieces: list[tuple[str, str]], queries: list[dict[str, str]]) -> dict[str, Any]:
    """Answer all queries in three ways."""
    texts = [text for _, text in pieces]
    turn = partial(embed, encoder=(model := load_minilm())[0], tokenizer=model[1])
    vectors = turn(texts)
    ways: dict[str, Scores] = {"MiniLM": lambda query: vectors @ turn([query])[0]}
    ways["BM25"] = bm25(texts)
    ways["both"] = fused(*ways.values())
    right = [[i for i, text in enumerate(texts) if q["find"] in text] for q in queries]
    ranks = {
        kind: {
            name: [rank_of(way(q[kind]), rows) for q, rows in zip(queries, right, strict=True)]
            for name, way in ways.items()
        }
        for kind in KINDS
    }
    free = {query: {name: best(way(query), pieces) for name, way in ways.items()} for query in FREE}
    return {
        "question": "Which line is meant? Ranks of the right line among all pieces of the plays.",
        "n_plays": len({title for title, _ in pieces}),
        "n_pieces": len(pieces),
        "ranks": ranks,
        "free": free,
    }


def best(scores: np.ndarray, pieces: list[tuple[str, str]], n: int = 3) -> list[list[str]]:
    """Give the best pieces with their plays; none without a positive score."""
    order = np.argsort(-scores, kind="stable")[:n]
    return [list(pieces[i]) for i in order if scores[i] > 0]


if __name__ == "__main__":
    main()
