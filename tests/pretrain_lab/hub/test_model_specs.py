# SPDX-License-Identifier: MIT
"""The tables of published models: what can be counted is counted, and agrees with the sources."""

import json
import re

import pytest

from pretrain_lab.hub.model_specs import (
    ADAM_BYTES,
    BYTES,
    build,
    gigabytes,
    load_bytes,
    load_table,
    millions,
    parameters_of,
    shape_of,
    training_bytes,
)
from pretrain_lab.paths import ROOT, RUNS

MODELS = load_table("specifications")
TABLES = sorted(path.stem for path in (ROOT / "data" / "tables").glob("*.toml"))
EXACT = {  # published, or counted from the released files
    "GPT-1": 116_534_784,
    "GPT-2 small": 124_439_808,
    "GPT-2 XL": 1_557_611_200,
    "GPT-3": 174_604_259_328,
    "BERT-Base": 110_106_428,
    "BERT-Large": 336_226_108,
    "T5-Small": 60_506_624,
    "T5-11B": 11_307_321_344,
}
UNITS = {"M": 1e6, "B": 1e9}


@pytest.mark.parametrize("name", EXACT)
def test_counts_are_the_published_ones(name: str) -> None:
    """To the last parameter."""
    (row,) = (row for row in MODELS if row["name"] == name)
    assert parameters_of(row) == EXACT[name]


@pytest.mark.parametrize("row", MODELS, ids=lambda row: row["name"])
def test_the_paper_s_name_of_a_size_is_near_the_count(row: dict) -> None:
    """Names are round, and some are known to be wrong; none is off by more than 7 %."""
    said = re.findall(r"([\d,.]+)([MB])", row["said"])
    number, unit = said[-1]
    count = parameters_of(row)
    assert float(number.replace(",", "")) * UNITS[unit] == pytest.approx(count, rel=0.07)


def test_the_record_of_the_agreement_says_the_same() -> None:
    """Two ways to the same counts: options of our classes, and configurations."""
    record = json.loads((RUNS / "agreement.json").read_text(encoding="utf-8"))["sizes"]
    ours = {row["name"].lower(): parameters_of(row) for row in MODELS}
    same = {name: row["ours"] for name, row in record.items() if name.lower() in ours}
    assert len(same) >= 7
    assert same == {name: ours[name.lower()] for name in same}


def test_building_takes_no_memory() -> None:
    """Every parameter is on the meta device, so that 175 billion can be counted."""
    (row,) = (row for row in MODELS if row["name"] == "GPT-3")
    assert {parameter.device.type for parameter in build(row).parameters()} == {"meta"}


def test_shapes_come_from_the_model() -> None:
    """T5's head width is its own choice; BERT's and GPT's follow from the width."""
    shapes = {row["name"]: shape_of(row) for row in MODELS}
    assert shapes["T5-11B"]["heads"] * shapes["T5-11B"]["head width"] == 16 * 1_024
    assert shapes["GPT-3"]["head width"] == 128
    assert shapes["BERT-Base"]["feed-forward"] == 3_072
    assert [name for name, shape in shapes.items() if not shape["context"]] == [
        row["name"] for row in MODELS if row["kind"] == "t5"
    ]


def test_memory_by_hand() -> None:
    """BERT-Base: 440 MB to load in float32, 1.76 GB to train with Adam."""
    n = EXACT["BERT-Base"]
    assert load_bytes(n) == 4 * n
    assert load_bytes(n, "bfloat16") == 2 * n
    assert load_bytes(8, "4 bits") == 4
    assert training_bytes(n) == ADAM_BYTES * n == 4 * load_bytes(n)
    assert training_bytes(10, 100, "int8") == 260
    assert gigabytes(training_bytes(n)) == "1.8"
    assert gigabytes(load_bytes(n)) == "0.44"
    assert gigabytes(load_bytes(EXACT["GPT-3"], "bfloat16")) == "349"


def test_numbers_are_written_for_a_table() -> None:
    """Decimals only where they say something."""
    assert [millions(n) for n in (162_368, 66_985_530, EXACT["GPT-3"])] == [
        "0.2",
        "67.0",
        "174,604",
    ]


def test_unknown_names_are_refused() -> None:
    """The messages say what there is."""
    with pytest.raises(FileNotFoundError, match="specifications"):
        load_table("nothing")
    with pytest.raises(ValueError, match="expected kind"):
        build({"kind": "rnn"})
    with pytest.raises(ValueError, match="bfloat16"):
        load_bytes(1, "float8")
    with pytest.raises(ValueError, match="n_parameters >= 0"):
        load_bytes(-1)
    with pytest.raises(ValueError, match="n_trained >= 0"):
        training_bytes(-1)


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_the_columns_of_the_first_and_known_sources(table: str) -> None:
    """A missing cell is written as a dash, a source is a key of the bibliography."""
    bibliography = (ROOT / "chapters" / "references.bib").read_text(encoding="utf-8")
    keys = set(re.findall(r"^@\w+\{([^,]+),", bibliography, re.M))
    shape = {"kind", "options", "size", "parameters", "next_sentence"}
    shape |= {"kind_of", "context", "licence", "since"}  # of the models that chapter 15 proposes
    rows = load_table(table)
    for row in rows:
        assert row.keys() - shape == rows[0].keys() - shape, row["name"]
        assert row["sources"], row["name"]
        assert set(row["sources"]) <= keys, row["name"]
    assert len({row["name"] for row in rows}) == len(rows)


def test_formats_are_ordered() -> None:
    """Fewer bits, fewer bytes."""
    assert list(BYTES.values()) == sorted(BYTES.values(), reverse=True)
