# SPDX-License-Identifier: MIT
"""Labelled texts asked for by their hub id: the named ones with a connection, reviews without.

IMDb (Maas et al. 2011) and SST-2 (Socher et al. 2013, as GLUE has it), two classes each. Without
PRETRAIN_ONLINE=1 the book's film-review sentences stand in for both, with films disjoint between
the splits, and a line says so.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Generator

from pretrain_lab.corpora.loading import load_reviews
from pretrain_lab.hub.cache import from_hub, is_online


class NamedTexts(NamedTuple):
    """Where texts lie on the hub, and what their columns are called."""

    folder: str  # of the parquet files
    column: str  # of the text; that of the class is "label", 1 = praise
    unseen: str  # the split to be judged by; SST-2's test labels are not public


TEXTS = {
    "stanfordnlp/imdb": NamedTexts("plain_text", "text", "test"),
    "nyu-mll/glue": NamedTexts("sst2", "sentence", "validation"),
}
"""The known ids; of GLUE, only SST-2."""


class Labelled(NamedTuple):
    """Texts and their classes, 1 = praise."""

    texts: list[str]
    labels: list[int]


def load_texts(
    hub_id: str,
    n_train: int,
    n_test: int,
    *,
    generator: Generator,
    report: Callable[[str], None] | None = print,
) -> tuple[Labelled, Labelled]:
    """Draw labelled texts to train on and others to be judged by.

    `hub_id` is a key of TEXTS; `report` is told what stands in for what, None = nobody.

    Raises:
        ValueError: Another id, or more texts than there are.
        StandInError: With PRETRAIN_ONLINE=1, when neither cache nor hub has them.
    """
    if hub_id not in TEXTS:
        raise ValueError(f"expected an id from {[*TEXTS]}, got {hub_id!r}")
    splits = ("train", TEXTS[hub_id].unseen if is_online() else "test")
    if is_online():
        named = TEXTS[hub_id]
        pattern = f"{named.folder}/{{}}-*.parquet"
        found = from_hub(
            hub_id,
            lambda folder: [_read(folder, pattern.format(s), named.column) for s in splits],
            files=[pattern.format(split) for split in splits],
            kind="dataset",
        )
    else:
        groups = [load_reviews(split) for split in splits]
        found = [Labelled([r.sentence for r in g], [r.label for r in g]) for g in groups]
    if report:
        stands = "" if is_online() else "the book's film-review sentences stand in for "
        report(f"{stands}{hub_id}")
    train, test = found
    return _draw(train, n_train, generator), _draw(test, n_test, generator)


def _read(folder: Path, pattern: str, column: str) -> Labelled:
    """Read the parquet files of a split; OSError: there is none."""
    import pyarrow.parquet as parquet  # type: ignore[import-untyped]  # comes with `datasets`

    files = sorted(folder.glob(pattern))
    if not files:
        raise OSError(f"no file {pattern}")
    tables = [parquet.read_table(file, columns=[column, "label"]).to_pydict() for file in files]
    return Labelled(
        [text for table in tables for text in table[column]],
        [label for table in tables for label in table["label"]],
    )


def _draw(found: Labelled, n: int, generator: Generator) -> Labelled:
    """Draw n texts without replacement."""
    if n > len(found.texts):
        raise ValueError(f"expected at most {len(found.texts)} texts, got {n}")
    order = torch.randperm(len(found.texts), generator=generator)[:n].tolist()
    return Labelled([found.texts[i] for i in order], [found.labels[i] for i in order])
