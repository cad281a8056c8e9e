# SPDX-License-Identifier: MIT
"""Text, vocabulary and windows of the command."""

import json
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
from pretrain_lab.train.objectives import (
    CausalOptions,
    MaskedOptions,
    SpansOptions,
    make_objective,
    n_predicted,
)
from pretrain_lab.train.options import ConfigError, DataOptions, TokenizerOptions
from pretrain_lab.train.seeds import keyed_generator
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


def test_files_that_are_not_there_or_no_text_are_refused(folder: Path) -> None:
    """With the pattern, or the file, in the message."""
    with pytest.raises(ConfigError, match=r"data.files: expected files, got .*nothing\.\*"):
        find_files([str(folder / "nothing.*")])
    wrong = folder / "c.bin"
    wrong.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"expected UTF-8 in .*c\.bin"):
        list(file_rows([wrong]))
    with pytest.raises(ConfigError, match=r"\[data\]: expected a data set in .*no_such"):
        DatasetRows(DataOptions(seq_len=8, dataset=str(folder / "no_such"), stream=True))


def test_rows_of_a_data_set_get_an_end(tmp_path: Path) -> None:
    """The vocabulary's end of text, or a line break; read from a folder of JSON lines."""
    rows = [{"title": "x", "body": text} for text in ("ab", None, "ba b")]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(lines)
    options = DataOptions(seq_len=8, dataset=str(tmp_path), column="body")
    texts = list(all_rows(options))
    assert texts == ["ab", "", "ba b"]
    plain = CharTokenizer("\n ab")
    ids = encode_all(texts, row_encoder(plain, options))
    assert plain.decode(ids) == "ab\n\nba b\n"
    closing = make_tokenizer(CHARACTERS, texts, with_sentinels=True)
    ids = encode_all(texts, row_encoder(closing, options))
    assert closing.decode(ids) == "ab</s></s>ba b</s>"
    with pytest.raises(ConfigError, match=r"data.column: expected one of \['title', 'body'\]"):
        list(all_rows(DataOptions(seq_len=8, dataset=str(tmp_path))))


def test_a_character_outside_the_vocabulary_is_named() -> None:
    """In memory and in a stream alike."""
    tokenizer = CharTokenizer("ab")
    with pytest.raises(ConfigError, match="got 'c' at index 1"):
        encode_all(["ab", "ac"], tokenizer.encode)
    with pytest.raises(ConfigError, match="expected a text with at least one token"):
        encode_all([], tokenizer.encode)
    with pytest.raises(ConfigError, match=r"\[tokenizer\]: expected a text with at least one"):
        make_tokenizer(CHARACTERS, [], with_sentinels=False)


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
    assert eos_of(one) is not None
    assert {*sentinels, eos_of(one), one.pad_id} <= set(one.special_ids)
    text = "".join(rows)
    assert one.decode(one.encode(text)) == text
    assert sentinels_of(make_tokenizer(options, rows, with_sentinels=False)) == ()


def test_a_vocabulary_without_sentinels_is_refused() -> None:
    """The message says how many the windows need."""
    options = SpansOptions(kind="spans", noise_share=0.5, mean_span_len=2.0)
    with pytest.raises(ConfigError, match=r"with 4 sentinels <extra_id_n>.* of 12 tokens, got 0"):
        make_objective(options, CharTokenizer("ab"), 12)
    tokenizer = make_tokenizer(CHARACTERS, ["ab"], with_sentinels=True)
    assert make_objective(options, tokenizer, 12).window_len == 12


def test_shares_of_the_masked_that_exceed_1_are_refused() -> None:
    """Before the first batch, not at it."""
    options = MaskedOptions(kind="masked", mask_prob=0.8, random_prob=0.3)
    tokenizer = make_tokenizer(CHARACTERS, ["ab"], with_sentinels=False)
    with pytest.raises(ConfigError, match=r"sum of at most 1, got 0\.8 and 0\.3"):
        make_objective(options, tokenizer, 12)


def test_the_first_rows_of_a_stream() -> None:
    """As many as have the characters, and no row more is read."""
    rows = iter(["abc", "de", "f", "never"])
    assert list(first_characters(rows, 4)) == ["abc", "de"]
    assert next(rows) == "f"


@pytest.mark.parametrize(
    ("options", "share"),
    [
        (CausalOptions(kind="causal"), 1.0),
        (MaskedOptions(kind="masked"), 0.15),
        (SpansOptions(kind="spans", roll=True), None),
    ],
    ids=["causal", "masked", "spans"],
)  # fmt: skip
def test_samples_depend_on_their_keys_alone(options: Any, share: float | None) -> None:
    """Alone, in pairs, or in another order: the same inputs and labels, up to padding."""
    tokenizer = make_tokenizer(CHARACTERS, ["abcdefgh"], with_sentinels=True)
    text = tokenizer.encode("abcdefgh" * 50)
    objective = make_objective(options, tokenizer, 32)
    windows = RandomWindows(text, window_len=objective.window_len)

    def batch(samples: list[int]) -> Any:
        """Make a batch of some samples of step 3."""
        generators = [keyed_generator(0, 3, sample) for sample in samples]
        return objective.batch([(windows.read(0, g), g) for g in generators])

    all_at_once = batch(list(range(64)))
    for samples in ([5], [9, 4]):
        for row, sample in zip(zip(*batch(samples), strict=True), samples, strict=True):
            for found, whole in zip(row, (part[sample] for part in all_at_once), strict=True):
                assert torch.equal(found, whole[: len(found)])
    if share is not None:
        rate = n_predicted(all_at_once) / (64 * 32)
        assert abs(rate - share) <= 4 * (share * (1 - share) / (64 * 32)) ** 0.5


def streamed(folder: Path, tokenizer: CharTokenizer) -> StreamedWindows:
    """Open the files of a folder as a stream of windows of 6 tokens, 5 apart."""
    options = data(folder, stream=True)
    return StreamedWindows(
        lambda: DatasetRows(options), tokenizer.encode, seq_len=5, window_len=6
    )  # fmt: skip


def test_a_stream_gives_the_windows_of_the_text_in_memory(folder: Path) -> None:
    """Over three passes; after `forget` earlier windows are gone, later ones are not."""
    rows = list(all_rows(data(folder)))
    tokenizer = CharTokenizer(sorted(set("".join(rows))))
    ids = encode_all(rows, tokenizer.encode)
    memory = ConsecutiveWindows(ids, seq_len=5, window_len=6)
    stream, draws = streamed(folder, tokenizer), torch.Generator()
    for number in range(3 * len(ids) // 5):
        assert torch.equal(stream.read(number, draws), memory.read(number, draws)), number
        if number % 4 == 3:
            stream.forget(number)
    with pytest.raises(ValueError, match="expected a window from token"):
        stream.read(0, draws)


def test_a_stream_goes_on_where_another_stood(folder: Path) -> None:
    """At every place of two passes, through JSON, and over the end of a pass."""
    rows = list(all_rows(data(folder)))
    tokenizer = CharTokenizer(sorted(set("".join(rows))))
    ids = encode_all(rows, tokenizer.encode)
    memory = ConsecutiveWindows(ids, seq_len=5, window_len=6)
    stream, draws = streamed(folder, tokenizer), torch.Generator()
    n_windows = 2 * len(ids) // 5
    for number in range(0, n_windows, 3):
        stream.forget(number)
        place, held = stream.position()
        other = streamed(folder, tokenizer)
        other.go_to(json.loads(json.dumps(place)), held)
        for ahead in range(number, number + 30, 7):
            assert torch.equal(other.read(ahead, draws), memory.read(ahead, draws))
        stream.read(number, draws)


def test_an_empty_stream_is_refused(tmp_path: Path) -> None:
    """Instead of reading it for ever."""
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(ConfigError, match="expected a text with at least one token"):
        streamed(tmp_path, CharTokenizer("ab")).read(0, torch.Generator())
    with pytest.raises(ConfigError, match="expected a text of at least 9 tokens, got 3"):
        RandomWindows(torch.zeros(3, dtype=torch.int64), window_len=9)
