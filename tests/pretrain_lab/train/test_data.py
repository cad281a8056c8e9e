# SPDX-License-Identifier: MIT
"""Text, vocabulary and windows of the command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from train_runs import write_text

from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.train.data import (
    ConsecutiveWindows,
    DatasetRows,
    RandomWindows,
    StreamedWindows,
    all_rows,
    encode_all,
    file_rows,
    find_files,
    row_encoder,
)
from pretrain_lab.train.options import ConfigError, DataOptions, TokenizerOptions
from pretrain_lab.train.tokenizer import eos_of, first_characters, make_tokenizer, sentinels_of

CHARACTERS = TokenizerOptions(kind="characters", n_sentinels=9)


def data(folder: Path, **options: Any) -> DataOptions:
    """Describe the files of a folder."""
    return DataOptions(**{"seq_len": 8, "files": (str(folder / "*.txt"),), **options})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with two texts, the second one without a break at its end."""
    write_text(tmp_path / "a.txt", 5, seed=1)
    (tmp_path / "b.txt").write_text("ab\n\ncd ab", encoding="utf-8")
    return tmp_path


def test_rows_of_files_are_the_text(folder: Path) -> None:
    """File after file, line breaks kept; a stream gives the same rows."""
    rows = list(all_rows(data(folder)))
    assert "".join(rows) == "".join(p.read_text() for p in sorted(folder.glob("*.txt")))
    assert rows[-3:] == ["ab\n", "\n", "cd ab"]
    assert list(DatasetRows(data(folder, stream=True))) == rows


def test_rows_of_a_data_set_get_an_end(tmp_path: Path) -> None:
    """The vocabulary's end of text, or a line break; read from a folder of JSON lines."""
    rows = [{"title": "x", "body": text} for text in ("ab", None, "ba b")]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(lines)
    options = DataOptions(seq_len=8, dataset=str(tmp_path), column="body")
    texts = list(all_rows(options))
    assert texts == ["ab", "", "ba b"]
    plain = CharTokenizer("\n ab")
    assert plain.decode(encode_all(texts, row_encoder(plain, options))) == "ab\n\nba b\n"
    closing = make_tokenizer(CHARACTERS, texts, with_sentinels=True)
    ids = encode_all(texts, row_encoder(closing, options))
    assert closing.decode(ids) == "ab</s></s>ba b</s>"
    with pytest.raises(ConfigError, match=r"data.column: expected one of \['title', 'body'\]"):
        list(all_rows(DataOptions(seq_len=8, dataset=str(tmp_path))))


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda f: find_files([str(f / "no.*")]), r"data.files: expected files, got .*no\.\*"),
        (lambda f: list(file_rows([f / "c.bin"])), r"expected UTF-8 in .*c\.bin"),
        (
            lambda f: DatasetRows(DataOptions(seq_len=8, dataset=str(f / "none"), stream=True)),
            r"\[data\]: expected a data set in .*none",
        ),
        (lambda _: encode_all(["ab", "ac"], CharTokenizer("ab").encode), "got 'c' at index 1"),
        (lambda _: encode_all([], CharTokenizer("ab").encode), "a text with at least one token"),
        (
            lambda _: make_tokenizer(CHARACTERS, [], with_sentinels=False),
            r"\[tokenizer\]: expected a text with at least one",
        ),
        (
            lambda _: RandomWindows(torch.zeros(3, dtype=torch.int64), window_len=9),
            "expected a text of at least 9 tokens, got 3",
        ),
        (
            lambda f: streamed(f / "empty", CharTokenizer("ab")).read(0, torch.Generator()),
            "expected a text with at least one token",  # instead of reading it for ever
        ),
    ],
)
def test_texts_that_cannot_be_read_are_refused(
    folder: Path, refused: Callable[[Path], Any], message: str
) -> None:
    """With the pattern, the file or the character in the message."""
    (folder / "c.bin").write_bytes(b"\xff\xfe")
    (folder / "empty").mkdir()
    (folder / "empty" / "a.txt").write_text("")
    with pytest.raises(ConfigError, match=message):
        refused(folder)


@pytest.mark.parametrize("kind", ["characters", "bpe", "byte-bpe"])
def test_learned_vocabularies_have_what_span_corruption_needs(folder: Path, kind: str) -> None:
    """Sentinels that count down, an end, a padding; and the same ones in every process."""
    size = {"characters": None, "bpe": 120, "byte-bpe": 280}[kind]
    options = TokenizerOptions(kind=kind, vocab_size=size, n_sentinels=7)
    rows = list(all_rows(data(folder)))
    one, other = (make_tokenizer(options, rows, with_sentinels=True) for _ in range(2))
    assert one.to_dict() == other.to_dict()
    sentinels = sentinels_of(one)
    assert sentinels == tuple(range(sentinels[0], sentinels[0] - 7, -1))
    assert {*sentinels, eos_of(one), one.pad_id} <= set(one.special_ids)
    text = "".join(rows)
    assert one.decode(one.encode(text)) == text
    assert sentinels_of(make_tokenizer(options, rows, with_sentinels=False)) == ()


def test_the_first_rows_of_a_stream() -> None:
    """As many as have the characters, and no row more is read."""
    rows = iter(["abc", "de", "f", "never"])
    assert list(first_characters(rows, 4)) == ["abc", "de"]
    assert next(rows) == "f"


def streamed(folder: Path, tokenizer: CharTokenizer) -> StreamedWindows:
    """Open the files of a folder as a stream of windows of 6 tokens, 5 apart."""
    options = data(folder, stream=True)
    return StreamedWindows(lambda: DatasetRows(options), tokenizer.encode, seq_len=5, window_len=6)


def test_a_stream_gives_the_windows_of_the_text_in_memory(folder: Path) -> None:
    """Over three passes, also where another stream goes on, through JSON, where one stood."""
    rows = list(all_rows(data(folder)))
    tokenizer = CharTokenizer(sorted(set("".join(rows))))
    ids = encode_all(rows, tokenizer.encode)
    memory = ConsecutiveWindows(ids, seq_len=5, window_len=6)
    stream, draws = streamed(folder, tokenizer), torch.Generator()
    for number in range(3 * len(ids) // 5):
        assert torch.equal(stream.read(number, draws), memory.read(number, draws)), number
        if number % 4 == 3:
            stream.forget(number)
            place, held = stream.position()
            other = streamed(folder, tokenizer)
            other.go_to(json.loads(json.dumps(place)), held)
            for ahead in range(number, number + 30, 7):
                assert torch.equal(other.read(ahead, draws), memory.read(ahead, draws))
    with pytest.raises(ValueError, match="expected a window from token"):
        stream.read(0, draws)
