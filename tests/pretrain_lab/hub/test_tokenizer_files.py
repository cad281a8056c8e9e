# SPDX-License-Identifier: MIT
"""Our tokenisers by `AutoTokenizer`: the same ids, the same text, and back to ours."""

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from pretrain_lab.checkpoints import AnyTokenizer
from pretrain_lab.hub.tokenizer_files import read_tokenizer, special_token_ids, tokenizer_files
from pretrain_lab.run_state import CheckpointError
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.tokenizers.learning import train_subwords

TEXT = "To be, or not to be: that is the question.\n\n\tHAMLET. (aside)  “Café” — 月が綺麗 🎭"
TEXTS = [TEXT, "  to be", "to\n\nbe ", "\n", "question", "t o b e", ""]
T5_SPECIALS = ("[PAD]", "[MASK]", "</s>", "<extra_id_1>", "<extra_id_0>")
TOKENIZERS: dict[str, AnyTokenizer] = {
    "characters": CharTokenizer.from_text(TEXT),
    "characters of a T5": CharTokenizer(sorted(set(TEXT)), T5_SPECIALS),
    **{
        kind: train_subwords([TEXT] * 3, kind, size, n_sentinels=2)
        for kind, size in {"bpe": 140, "byte-bpe": 280, "wordpiece": 150, "unigram": 116}.items()
    },
}


def write(folder: Path, tokenizer: AnyTokenizer, **options: Any) -> Path:
    """Write the files of a tokeniser beside a configuration that suggests another one."""
    for name, content in tokenizer_files(tokenizer, **options).items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    (folder / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    return folder


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_auto_tokenizer_gives_our_ids_and_our_text(tmp_path: Path, kind: str) -> None:
    """Nothing is added, nothing cleaned up; special tokens stand under their roles."""
    ours = TOKENIZERS[kind]
    theirs = AutoTokenizer.from_pretrained(write(tmp_path, ours, max_len=77))
    assert len(theirs) == ours.vocab_size
    assert theirs.model_max_length == 77
    for text in TEXTS:
        ids = ours.encode(text).tolist()
        assert theirs(text)["input_ids"] == ids
        assert theirs.decode(ids) == ours.decode(ids)
    assert (theirs.pad_token_id, theirs.mask_token_id) == (ours.pad_id, ours.mask_id)
    assert theirs("to [MASK]")["input_ids"][-1] == ours.mask_id  # unlike ours, for pipelines
    if "T5" in kind or "characters" not in kind:
        assert theirs.eos_token == "</s>"
        sentinel = theirs("<extra_id_0>")["input_ids"]
        assert [ours.tokens[i] for i in sentinel] == ["<extra_id_0>"]
    assert set(theirs.all_special_ids) == set(ours.special_ids)


def test_a_gap_takes_its_space_with_it_as_in_complete(tmp_path: Path) -> None:
    """Where words begin with their space, none is left before [MASK] or <extra_id_0>."""
    ours = TOKENIZERS["byte-bpe"]
    assert any(len(token) > 1 and token.startswith(" ") for token in ours.tokens)
    theirs = AutoTokenizer.from_pretrained(write(tmp_path, ours))
    for gap in ("[MASK]", "<extra_id_0>"):
        names = [ours.tokens[i] for i in theirs(f"not to {gap} be")["input_ids"]]
        before, after = names[: names.index(gap)], names[names.index(gap) + 1 :]
        assert ("".join(before), "".join(after)) == ("not to", " be")


@pytest.mark.parametrize("kind", ["characters of a T5", "bpe", "byte-bpe", "unigram"])
def test_what_a_t5_reads_is_closed_as_in_its_training(tmp_path: Path, kind: str) -> None:
    """`</s>` stands behind every text, and can be left out; back to ours, it is not added."""
    ours = TOKENIZERS[kind]
    theirs = AutoTokenizer.from_pretrained(write(tmp_path, ours, with_end=True))
    for text in TEXTS:
        ids = ours.encode(text).tolist()
        assert theirs(text)["input_ids"] == [*ids, ours.tokens.index("</s>")]
        assert theirs(text, add_special_tokens=False)["input_ids"] == ids
        assert read_tokenizer(tmp_path).encode(text).tolist() == ids


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_back_to_ours_also_after_transformers_saved_it(tmp_path: Path, kind: str) -> None:
    """The same kind, the same tokens in the same order, the same ids."""
    ours = TOKENIZERS[kind]
    (tmp_path / "theirs").mkdir()
    write(tmp_path, ours)
    AutoTokenizer.from_pretrained(tmp_path).save_pretrained(tmp_path / "theirs")
    for folder in (tmp_path, tmp_path / "theirs"):
        again = read_tokenizer(folder)
        assert type(again) is type(ours)
        assert again.tokens == ours.tokens
        assert again.special_ids == ours.special_ids
        assert all(again.encode(text).tolist() == ours.encode(text).tolist() for text in TEXTS)


def test_an_unknown_character_is_refused_there_too(tmp_path: Path) -> None:
    """A vocabulary of characters has no token for it, and none is dropped in silence."""
    theirs = AutoTokenizer.from_pretrained(write(tmp_path, CharTokenizer.from_text("abc")))
    with pytest.raises(Exception, match="WordLevel error: Missing"):
        theirs("abd")


def test_segments_and_ids_of_a_configuration(tmp_path: Path) -> None:
    """token_type_ids only for a model that has segments; the ids that its configuration names."""
    tokenizer = TOKENIZERS["wordpiece"]
    inputs = AutoTokenizer.from_pretrained(write(tmp_path, tokenizer, with_segments=True))("to")
    assert sorted(inputs) == ["attention_mask", "input_ids", "token_type_ids"]
    inputs = AutoTokenizer.from_pretrained(write(tmp_path, tokenizer))("to")
    assert sorted(inputs) == ["attention_mask", "input_ids"]
    assert special_token_ids(tokenizer) == {"pad_token_id": 0, "eos_token_id": 5}
    assert special_token_ids(TOKENIZERS["characters"]) == {"pad_token_id": 0}


def test_files_that_hold_no_tokeniser_of_ours(tmp_path: Path) -> None:
    """Missing, damaged, without the library's form, or words where characters should be."""
    file = tmp_path / "tokenizer.json"
    with pytest.raises(CheckpointError, match=r"expected tokenizer\.json in .*, found none"):
        read_tokenizer(tmp_path)
    write(tmp_path, TOKENIZERS["characters"])
    state = json.loads(file.read_text(encoding="utf-8"))
    state["model"]["vocab"]["word"] = len(state["model"]["vocab"])
    for content, message in (
        ("{", "cannot be read"),
        ("{}", r"tokenizer\.json cannot be read \('model'\)"),
        ('{"model": {"type": "BPE"}}', "expected the JSON of a tokeniser"),
        (json.dumps(state), "expected single characters behind the special tokens"),
    ):
        file.write_text(content, encoding="utf-8")
        with pytest.raises(CheckpointError, match=message):
            read_tokenizer(tmp_path)
