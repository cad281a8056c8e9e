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
    encode_all,
    in_chunks,
    row_encoder,
)
from pretrain_lab.train.files import (
    all_rows,
    file_rows,
    find_files,
    hold_out,
    validation_rows,
)
from pretrain_lab.train.options import ConfigError, DataOptions, TokenizerOptions
from pretrain_lab.train.tokenizer import (
    check_unknown,
    eos_of,
    first_characters,
    make_tokenizer,
    sentinels_of,
    share_of_unknown,
)

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


def test_files_are_found_by_pattern_folder_and_home(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a mark of byte order at the start of a file is no text."""
    expected = [folder / "a.txt", folder / "b.txt"]
    monkeypatch.setenv("HOME", str(folder))
    for pattern in (str(folder), str(folder / "*.txt"), "~/*.txt", "~"):
        assert find_files([pattern]) == expected
    (folder / "bom.txt").write_bytes(b"\xef\xbb\xbfab\n")
    marked = data(folder, files=(str(folder / "bom.txt"),), stream=True)
    assert list(all_rows(marked)) == list(DatasetRows(marked)) == ["ab\n"]


def test_brackets_in_a_name_are_no_pattern(tmp_path: Path) -> None:
    """Of a file that is there, or of a folder; the stream finds both too."""
    book, old = tmp_path / "Moby Dick [1851].txt", tmp_path / "books [old]"
    old.mkdir()
    for path in (book, old / "a*[b].txt"):
        path.write_text("ab\n", encoding="utf-8")
    assert find_files([str(book)]) == [book]
    assert find_files([str(old)]) == [old / "a*[b].txt"]
    named = data(tmp_path, files=(str(book), str(old)), stream=True)
    assert list(all_rows(named)) == list(DatasetRows(named)) == ["ab\n", "ab\n"]


def test_a_bad_file_to_evaluate_on_is_told_as_one(tmp_path: Path) -> None:
    """The message names the option that names the file."""
    (tmp_path / "bad.txt").write_bytes("na\u00efve".encode("latin1"))
    (tmp_path / "zero.txt").write_bytes(b"ab\0")
    (tmp_path / "x.exe").write_bytes(b"\x7fELF\0\xff")
    for name in ("bad.txt", "zero.txt", "x.exe"):
        options = data(tmp_path, validation_files=(str(tmp_path / name),))
        with pytest.raises(ConfigError, match=f"^data.validation_files: expected .*{name}"):
            list(validation_rows(options))


def test_what_is_held_out_is_the_end_of_the_text() -> None:
    """Whole rows where that comes near the share, and no character on both sides."""
    rows = [f"line {n}\n" for n in range(10, 110)]
    for text, share in ((rows, 0.05), (["x" * 1000], 0.05), (rows, 0.5), (["ab\n"], 0.05)):
        kept, held = hold_out(text, share)
        assert "".join(kept + held) == "".join(text)
        wanted = share * sum(map(len, text))
        assert abs(sum(map(len, held)) - wanted) <= max(1, wanted / 2)
    assert hold_out(rows, 0.05) == (rows[:96], rows[96:])
    assert hold_out(rows, 0.0) == (rows, [])


def test_chunks_of_lines_give_the_same_ids(folder: Path) -> None:
    """For a vocabulary that is learned here, none of whose tokens crosses a line break."""
    rows = list(all_rows(data(folder)))
    options = TokenizerOptions(kind="byte-bpe", vocab_size=280)
    tokenizer = make_tokenizer(options, rows, with_sentinels=False)
    chunks = list(in_chunks(rows, 30))
    assert "".join(chunks) == "".join(rows)
    assert 1 < len(chunks) < len(rows)
    assert torch.equal(encode_all(chunks, tokenizer.encode), encode_all(rows, tokenizer.encode))


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
        (lambda f: find_files([str(f / "empty" / "none")]), "expected files, got .*none"),
        (lambda f: find_files([str(f / "images")]), r"the folder holds no \*\.txt, so name .*/\*"),
        (lambda f: list(file_rows([f / "c.bin"])), r"expected UTF-8 in .*iconv -f utf-16 -t utf-8"),
        (
            lambda f: list(file_rows([f / "l1.txt"])),
            r"iconv -f latin1 -t utf-8 .*l1.txt > .*l1-utf",
        ),
        (lambda f: list(file_rows([f / "x.exe"])), "x.exe holds zero bytes: it is a binary file"),
        (lambda f: list(file_rows([f / "z.txt"])), "expected text, but .*z.txt holds zero bytes"),
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
    (folder / "l1.txt").write_bytes("na\u00efve".encode("latin1"))
    (folder / "x.exe").write_bytes(b"\x7fELF\0\xff")
    (folder / "z.txt").write_bytes(b"ab\0")
    (folder / "images").mkdir()
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


def test_a_short_text_gives_fewer_ids_than_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And it is said how many; BPE learns from the first characters alone."""
    rows = list(all_rows(data(folder)))
    options = TokenizerOptions(kind="byte-bpe", vocab_size=5000, sample_size=20)
    tokenizer = make_tokenizer(options, rows, with_sentinels=False)
    said = capsys.readouterr().out
    assert f"the text gives {tokenizer.vocab_size} tokens, fewer than the 5,000" in said
    assert "learning 5,000 tokens (byte-bpe) from " in said
    assert 262 <= tokenizer.vocab_size < 300


def test_unknown_tokens_are_counted_and_refused() -> None:
    """Above one in a hundred, with the vocabulary that can write everything."""
    options = TokenizerOptions(kind="file", path="plays_bpe")
    tokenizer = make_tokenizer(options, [], with_sentinels=False)
    share = share_of_unknown(tokenizer.encode("café " * 3), tokenizer)
    assert 0.1 < share < 0.9
    assert share_of_unknown(tokenizer.encode("cafe"), tokenizer) == 0
    assert share_of_unknown(torch.tensor([2, 3]), CharTokenizer("ab")) == 0
    check_unknown(0.01, options)
    with pytest.raises(ConfigError, match=r'2.0 % of .* "plays_bpe" .*kind=byte-bpe'):
        check_unknown(0.02, options)


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
