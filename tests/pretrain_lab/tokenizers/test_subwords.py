# SPDX-License-Identifier: MIT
"""Subword tokenisers: what they learn, what they give back, and what they refuse."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models
from torch import Generator

from experiments.book_models import vocabularies
from pretrain.gpt import GPT, GPTConfig
from pretrain.objectives import IGNORE_INDEX, corrupt_mlm
from pretrain.span_corruption import SpanCorruption, corrupt_spans, fill_spans
from pretrain_lab.checkpoints import load_model, save_model
from pretrain_lab.corpora.cleaning import PLAY_ALPHABET
from pretrain_lab.corpora.loading import load_reviews, load_shakespeare
from pretrain_lab.hub.tokenizers import (
    byte_level_tokenizer,
    load_published_tokenizer,
)
from pretrain_lab.tokenizers.learning import KINDS, PRINTABLE_ASCII, train_subwords
from pretrain_lab.tokenizers.subwords import SPECIALS, TOKENIZERS, SubwordTokenizer, load_tokenizer

TOY = ["tea"] * 6 + ["team"] * 3 + ["steam"] * 4 + ["seat"] * 2 + ["quay"]
NAMES = ("plays_bpe", "plays_unigram", "plays_wordpiece")
BOOK = load_tokenizer("plays_bpe")
UNIGRAM = load_tokenizer("plays_unigram")
BYTES = train_subwords(TOY, "byte-bpe", 270, n_sentinels=4)
LETTERS = {"alphabet": "", "specials": ()}


def test_merges_are_the_most_frequent_pairs() -> None:
    """Counted by hand: ea 15 times, then t+ea 13, tea+m 7, s+team 4."""
    tokenizer = train_subwords(TOY, "bpe", 8 + 4, **LETTERS)
    assert sorted(tokenizer.tokens[:8]) == sorted("aemqstuy")
    assert tokenizer.tokens[8:] == ("ea", "tea", "team", "steam")
    assert tokenizer.split("teams") == ["team", "s"]


@given(st.text(alphabet=PLAY_ALPHABET))
@pytest.mark.parametrize("tokenizer", [BOOK, UNIGRAM, BYTES], ids=["bpe", "unigram", "bytes"])
def test_decode_undoes_encode_on_the_alphabet_of_the_plays(
    tokenizer: SubwordTokenizer, text: str
) -> None:
    """Blanks, line breaks and capitals included, and no special id is made of text."""
    ids = tokenizer.encode(text)
    assert ids.dtype == torch.int64
    assert ids.dim() == 1
    assert tokenizer.decode(ids) == text
    assert not set(ids.tolist()) & set(tokenizer.special_ids)


@given(st.text(st.characters(codec="utf-8")))
def test_bytes_give_every_text_back(text: str) -> None:
    """Nothing is unknown to a vocabulary of bytes."""
    assert BYTES.decode(BYTES.encode(text)) == text


def test_whole_plays_and_reviews_come_back() -> None:
    """All 38 plays, and review sentences with their digits and quotes, without [UNK]."""
    for tokenizer in (BOOK, UNIGRAM):
        for text in [p.text for p in load_shakespeare()] + [
            r.sentence for r in load_reviews("test")
        ]:
            ids = tokenizer.encode(text)
            assert tokenizer.decode(ids) == text
            assert tokenizer.unk_id not in ids


def test_word_pieces_forget_blanks() -> None:
    """As the docstring says: words come back with one blank between them."""
    tokenizer = load_tokenizer("plays_wordpiece")
    assert tokenizer.decode(tokenizer.encode("To  be,\nor not")) == "To be , or not"
    assert [t for t in tokenizer.split("unkindness") if t.startswith("##")]


def test_small_letters_as_in_uncased_bert() -> None:
    """Capitals and accents go in training and in encoding; no id is spent on a capital."""
    tokenizer = load_tokenizer("book_wordpiece")
    assert tokenizer.vocab_size == 5000
    assert tokenizer.tokens[:5] == SPECIALS[:5]
    assert tokenizer.special_ids == (0, 1, 2, 3, 4)
    assert not tokenizer.sentinel_ids
    assert not any(c.isupper() for token in tokenizer.tokens[5:] for c in token)
    assert tokenizer.split("The ZOË, the naïve film!") == tokenizer.split(
        "the zoe, the naive film!"
    )
    assert tokenizer.unk_id not in tokenizer.encode("The ZOË")
    texts = [review.sentence for review in load_reviews("validation")]
    assert not any(tokenizer.unk_id in tokenizer.encode(text) for text in texts)


@pytest.mark.parametrize(("kind", "size"), [("bpe", 82), ("unigram", 78), ("wordpiece", 84)])
def test_lower_case_survives_its_file(kind: str, size: int, tmp_path: Path) -> None:
    """Every kind can be trained so, and reads the same after it was written."""
    tokenizer = train_subwords([*TOY, "TEA", "Thé"], kind, size, lowercase=True)
    tokenizer.save(tmp_path / "toy.json")
    for each in (tokenizer, load_tokenizer(tmp_path / "toy.json")):
        assert torch.equal(each.encode("THÉ Team"), each.encode("the team"))
        assert each.unk_id not in each.encode("THÉ Team")
        assert "T" not in each.tokens


@pytest.mark.parametrize("name", NAMES)
def test_layout_of_the_stored_vocabularies(name: str) -> None:
    """Specials first, 64 sentinels counting down from the last id, no token twice."""
    tokenizer = load_tokenizer(name)
    assert tokenizer.vocab_size == len(set(tokenizer.tokens)) == 3000
    assert tokenizer.tokens[:6] == SPECIALS
    roles = [tokenizer.pad_id, tokenizer.unk_id, tokenizer.cls_id, tokenizer.sep_id]
    assert [*roles, tokenizer.mask_id, tokenizer.eos_id] == list(range(6))
    assert tokenizer.sentinel_ids == tuple(range(2999, 2935, -1))
    assert tokenizer.tokens[2999] == "<extra_id_0>"
    assert tokenizer.special_ids == (*range(6), *range(2936, 3000))
    assert (TOKENIZERS / f"{name}.json").stat().st_size < 150_000


@pytest.mark.parametrize("name", [*NAMES, "book_wordpiece"])
def test_training_again_gives_the_stored_vocabulary(name: str) -> None:
    """BPE exactly; where the library breaks ties by chance, 97 of 100 tokens at least."""
    stored, again = load_tokenizer(name), vocabularies.train(name)
    if name == "plays_bpe":
        assert again.to_dict() == stored.to_dict()
    assert len(set(stored.tokens) & set(again.tokens)) >= 0.97 * stored.vocab_size
    card = json.loads((TOKENIZERS / f"{name}.card.json").read_text())
    versions = card.pop("versions")
    assert set(versions) == {"tokenizers"}
    assert {**vocabularies.make_card(name, stored), "versions": versions} == {
        **card,
        "versions": versions,
    }


def test_names_of_special_tokens_in_a_text_are_text() -> None:
    """Nobody can smuggle in a mask, an end or a sentinel by writing its name."""
    text = "[MASK] [PAD] </s> <extra_id_0> [UNK]"
    for tokenizer in (BOOK, UNIGRAM, BYTES, load_tokenizer("plays_wordpiece")):
        ids = set(tokenizer.encode(text).tolist()) - {tokenizer.unk_id}
        assert not ids & set(tokenizer.special_ids)


def test_special_tokens_decode_to_their_names() -> None:
    """A corrupted text can be read."""
    ids = torch.cat([BOOK.encode("To"), torch.tensor([BOOK.mask_id]), BOOK.encode(" be")])
    assert BOOK.decode(ids) == "To[MASK] be"
    assert BOOK.decode([BOOK.sentinel_ids[1], BOOK.eos_id]) == "<extra_id_1></s>"
    assert BYTES.decode([BYTES.mask_id]) == "[MASK]"
    assert BOOK.decode([]) == BOOK.decode(BOOK.encode("")) == ""


def test_unknown_characters() -> None:
    """One [UNK] for each; without [UNK] the character and its place are named."""
    ids = BOOK.encode("né")
    assert ids.tolist() == [BOOK.tokens.index("n"), BOOK.unk_id]
    bare = train_subwords(TOY, "bpe", 12, **LETTERS)
    with pytest.raises(ValueError, match=r"vocabulary \(8 of them\), got 'z' at index 2"):
        bare.encode("tez")


def test_bytes_are_readable() -> None:
    """A token is shown as its text, and a lonely byte as Python writes it."""
    assert BYTES.split("tea é") == ["tea", " ", "\\xc3", "\\xa9"]
    assert BYTES.decode(BYTES.encode("é")[:1]) == "\ufffd"


@pytest.mark.parametrize("kind", KINDS)
def test_json_round_trip(kind: str, tmp_path: Path) -> None:
    """The vocabulary survives as a dictionary, as JSON and as a file."""
    tokenizer = train_subwords(
        TOY, kind, {"byte-bpe": 270, "wordpiece": 110}.get(kind, 106), n_sentinels=2
    )
    twin = SubwordTokenizer.from_dict(json.loads(json.dumps(tokenizer.to_dict())))
    tokenizer.save(tmp_path / "new" / "toy.json")
    for other in (twin, load_tokenizer(tmp_path / "new" / "toy.json")):
        assert other.tokens == tokenizer.tokens
        assert other.special_ids == tokenizer.special_ids
        assert torch.equal(other.encode("steam\ntea"), tokenizer.encode("steam\ntea"))


def test_objectives_take_its_ids(generator: Generator) -> None:
    """Masking and span corruption run on it as on characters, and spans can be put back."""
    ids = BOOK.encode(load_shakespeare("validation")[0].text[:2000])
    corrupted = corrupt_mlm(
        ids[None], mask_id=BOOK.mask_id, vocab_size=BOOK.vocab_size,
        special_ids=BOOK.special_ids, generator=generator, mlm_probability=0.5,
    )  # fmt: skip
    drawn = corrupted.ids[(corrupted.labels != IGNORE_INDEX) & (corrupted.ids != BOOK.mask_id)]
    assert not set(drawn.tolist()) & set(BOOK.special_ids)
    spans = SpanCorruption(
        BOOK.sentinel_ids[0], len(BOOK.sentinel_ids), eos_id=BOOK.eos_id, pad_id=BOOK.pad_id
    )
    cut = corrupt_spans(ids, spans, generator=generator)
    assert BOOK.decode(cut.inputs).count("<extra_id_0>") == 1
    assert torch.equal(fill_spans(cut.inputs, cut.targets, spans), ids)


def test_a_saved_model_keeps_its_subwords(tmp_path: Path) -> None:
    """`load_model` gives back the kind of tokeniser that `save_model` was given."""
    model = GPT(GPTConfig(BOOK.vocab_size, d_model=8, n_layers=1, n_heads=2, max_len=8))
    save_model(tmp_path / "m.safetensors", model, BOOK, {})
    _, tokenizer = load_model(tmp_path / "m.safetensors")
    assert isinstance(tokenizer, SubwordTokenizer)
    assert tokenizer.tokens == BOOK.tokens
    assert tokenizer.sentinel_ids == BOOK.sentinel_ids


def test_bad_training_is_named() -> None:
    """Kind, texts, special tokens and sizes, each with what was expected."""
    with pytest.raises(ValueError, match=r"expected a kind from .*, got 'bped'"):
        train_subwords(TOY, "bped", 100)
    for nothing in ([], [""], "tea"):
        with pytest.raises(ValueError, match="a list of texts with at least one character"):
            train_subwords(nothing, "bpe", 100)
    with pytest.raises(ValueError, match=r"each once, got \('\[BOS\]',\)"):
        train_subwords(TOY, "bpe", 100, specials=("[BOS]",))
    with pytest.raises(ValueError, match="each once"):
        train_subwords(TOY, "bpe", 200, specials=("[PAD]", "[PAD]"))
    with pytest.raises(ValueError, match=r"expected \[UNK\] among the specials of 'unigram'"):
        train_subwords(TOY, "unigram", 100, specials=())
    with pytest.raises(ValueError, match="n_sentinels >= 0, got -1"):
        train_subwords(TOY, "bpe", 100, n_sentinels=-1)
    with pytest.raises(ValueError, match="got 40: the smallest is 102"):
        train_subwords(TOY, "bpe", 40)
    with pytest.raises(ValueError, match="got 400: the largest is 1"):
        train_subwords(TOY, "bpe", 400)


def test_bad_use_is_named(tmp_path: Path) -> None:
    """Ids with their range, roles that the vocabulary lacks, files that are none."""
    with pytest.raises(ValueError, match=r"expected ids in 0\.\.2999, got 3000 at index 1"):
        BOOK.decode([7, 3000])
    with pytest.raises(ValueError, match=r"in 0\.\.2999, got -1 at index 0"):
        BOOK.decode([-1])
    with pytest.raises(ValueError, match=r"got shape \(1, 2\)"):
        BOOK.decode(torch.tensor([[2, 3]]))
    with pytest.raises(ValueError, match=r"expected a vocabulary with \[CLS\], but"):
        _ = train_subwords(TOY, "bpe", 12, **LETTERS).cls_id
    with pytest.raises(FileNotFoundError, match=r"\['book_bpe', 'book_wordpiece', 'plays_bpe'"):
        load_tokenizer("plays")
    (tmp_path / "no.json").write_text('{"model": 1}')
    with pytest.raises(ValueError, match=r"no\.json: expected the JSON of a tokeniser"):
        load_tokenizer(tmp_path / "no.json")
    gap = Tokenizer(models.BPE(vocab={"a": 0, "b": 2}, merges=[]))
    with pytest.raises(ValueError, match=r"expected ids 0\.\.1, each once"):
        SubwordTokenizer(gap)


def test_the_alphabet_covers_the_plays() -> None:
    """So that [UNK] can only come from other texts."""
    assert set(PLAY_ALPHABET) < set(PRINTABLE_ASCII)
    assert len(PRINTABLE_ASCII) == 96


def test_published_word_pieces() -> None:
    """Splits and ids of bert-base-uncased that the fact sheet holds, computed elsewhere."""
    bert = load_published_tokenizer("bert-base-uncased")
    ids = [bert.pad_id, bert.unk_id, bert.cls_id, bert.sep_id, bert.mask_id]
    assert (bert.vocab_size, *ids) == (30522, 0, 100, 101, 102, 103)
    assert bert.encode("The cat sat on the mat").tolist() == [1996, 4937, 2938, 2006, 1996, 13523]
    assert bert.split("unhappiness") == ["un", "##ha", "##pp", "##iness"]
    assert bert.split("café") == ["cafe"]
    assert bert.split("\U0001f600") == ["[UNK]"]


@pytest.mark.slow
def test_published_bytes() -> None:
    """SmolLM2 cuts numbers into digits, keeps blanks, and gives any text back."""
    smol = load_published_tokenizer("smollm2")
    assert smol.vocab_size == 49152
    assert smol.split("To be 12") == ["To", " be", " ", "1", "2"]
    assert smol.decode(smol.encode("naïve \U0001f600\n")) == "naïve \U0001f600\n"
    assert smol.tokens[smol.eos_id] == "<|endoftext|>"


def test_other_published_tokenizers_are_refused() -> None:
    """An unknown name, and a header that describes another kind."""
    with pytest.raises(ValueError, match="'smollm2', got 'gpt2'"):
        load_published_tokenizer("gpt2")
    with pytest.raises(ValueError, match=r"got \['llama', None\]"):
        byte_level_tokenizer({"tokenizer.ggml.model": "llama"})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("vocab_size", "n_sentinels"), [(-1, 0), (6, 0), (7, 2), (10, 300)])
def test_a_vocabulary_without_room_is_refused(kind: str, vocab_size: int, n_sentinels: int) -> None:
    """Below 0 an OverflowError of the library got out; above, "unigram" was trained for ever."""
    with pytest.raises(ValueError, match=f"got {vocab_size}: {6 + n_sentinels} special"):
        train_subwords(["a ab", "a ab"], kind, vocab_size, alphabet="", n_sentinels=n_sentinels)


def test_a_unigram_vocabulary_holds_every_character() -> None:
    """With a piece fewer, the library's training never ended."""
    for size in (2, 3):
        with pytest.raises(ValueError, match=f"got {size}: 1 special .* at least 3 pieces"):
            train_subwords(["a ab"], "unigram", size, alphabet="", specials=("[UNK]",))
    assert train_subwords(["a ab"], "unigram", 4, alphabet="", specials=("[UNK]",)).vocab_size == 4
