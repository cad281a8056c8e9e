# SPDX-License-Identifier: MIT
"""Tokens: vocabularies give texts back, batches give their rows back, pairs follow each other."""

from typing import Any

import torch
from harness import fuzz
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from little import BERTS, TOKENIZER
from strategies import (
    GENERATORS,
    SEEDS,
    TEXTS,
    V,
    calls,
    floats,
    ids,
    masks,
    mostly,
    padded,
    random_ids,
    sizes,
)
from torch import Tensor

from pretrain.classification import in_batches, length_batches, pad_texts, pool_states
from pretrain.inside import encode_words, pad_rows, pool
from pretrain.objectives import IGNORE_INDEX
from pretrain.pair_sampling import (
    Pairs,
    Segments,
    find_segments,
    next_sentence_pairs,
    sentence_order_pairs,
    true_pairs,
)
from pretrain.pairs import Packed, pack_ids, pack_pairs, segment_ids_of, truncate_pair
from pretrain.subword_training import KINDS, train_subwords
from pretrain.subwords import SPECIALS, SubwordTokenizer
from pretrain.tagging import Words, WordTagger, tag_words
from pretrain.tokenization import MASK, PAD, CharTokenizer, checked_ids
from pretrain.tuning_examples import collate

CHARACTERS = st.sets(st.sampled_from("ab \n\u00e9\u4e2d\U0001f600"), min_size=1).map(sorted)
CHAR_TOKENIZERS = CHARACTERS.map(CharTokenizer)
NUMBERS = mostly(
    st.lists(st.integers(0, 6), max_size=6),
    st.lists(st.integers(-2, 400), max_size=6),
    st.lists(st.floats(), max_size=3),
    ids(1),
)


@fuzz(
    CharTokenizer,
    calls(
        characters=mostly(CHARACTERS, TEXTS.map(list), st.just(["ab"])),
        specials=mostly(st.just((PAD, MASK)), st.just((MASK, PAD, "a")), st.just((PAD,))),
    ),
)
def test_char_tokenizer(tokenizer: CharTokenizer, characters: list[str], **_: Any) -> None:
    """One id for each token."""
    assert len(set(tokenizer.tokens)) == tokenizer.vocab_size == len(characters) + len(
        tokenizer.specials)  # fmt: skip
    assert tokenizer.tokens[tokenizer.mask_id] == MASK


@fuzz(CharTokenizer.from_text, calls(text=TEXTS))
def test_from_text(tokenizer: CharTokenizer, text: str) -> None:
    """It can write the text."""
    assert tokenizer.decode(tokenizer.encode(text)) == text


@fuzz(CharTokenizer.encode, calls(self=CHAR_TOKENIZERS, text=TEXTS | st.text("ab", max_size=9)))
def test_char_encode(encoded: Tensor, self: CharTokenizer, text: str) -> None:
    """The text comes back."""
    assert encoded.dtype == torch.int64
    assert encoded.shape == (len(text),)
    assert self.decode(encoded) == text


@fuzz(CharTokenizer.decode, calls(self=CHAR_TOKENIZERS, ids=NUMBERS))
def test_char_decode(text: str, self: CharTokenizer, ids: Any) -> None:
    """The tokens, one after the other."""
    assert text == "".join(self.tokens[int(i)] for i in ids)


@fuzz(checked_ids, calls(ids=NUMBERS, vocab_size=sizes(9, 0)))
def test_checked_ids(found: list[int], ids: Any, vocab_size: int) -> None:
    """The same numbers, all in range."""
    assert found == [int(i) for i in ids]
    assert all(0 <= i < vocab_size for i in found)


@fuzz(SubwordTokenizer.encode, calls(self=st.just(TOKENIZER), text=TEXTS))
def test_subword_encode(encoded: Tensor, self: SubwordTokenizer, text: str) -> None:
    """The text comes back, and no special token was written by its name."""
    assert encoded.dtype == torch.int64
    assert self.decode(encoded) == text
    assert not set(encoded.tolist()) & set(self.special_ids)


@fuzz(SubwordTokenizer.decode, calls(self=st.just(TOKENIZER), ids=NUMBERS))
def test_subword_decode(text: str, **_: Any) -> None:
    """A text."""
    assert isinstance(text, str)


@fuzz(SubwordTokenizer.split, calls(self=st.just(TOKENIZER), text=TEXTS))
def test_subword_split(tokens: list[str], self: SubwordTokenizer, text: str) -> None:
    """One token for each id."""
    assert len(tokens) == len(self.encode(text))


@st.composite
def trainings(draw: DrawFn) -> dict[str, Any]:
    """Draw texts and sizes, of which some cannot be had."""
    kind = draw(mostly(st.sampled_from(KINDS), st.just("word")))
    least = 262 if kind == "byte-bpe" else 10
    few = st.integers(-2, 12)
    return {"texts": draw(st.lists(st.text("ab \u00e9", max_size=20), min_size=1, max_size=3)),
            "kind": kind, "vocab_size": draw(mostly(st.integers(least, least + 9), few)),
            "alphabet": draw(st.sampled_from(["ab", "a b", ""])),
            "specials": draw(mostly(st.just(SPECIALS), st.sampled_from([(), ("[UNK]",), ("x",)]))),
            "n_sentinels": draw(st.sampled_from([0, 0, 0, 2, -1, 300])),
            "lowercase": draw(st.booleans())}  # fmt: skip


@fuzz(train_subwords, trainings())
def test_train_subwords(
    tokenizer: SubwordTokenizer, texts: list[str], kind: str, vocab_size: int, lowercase: bool,
    n_sentinels: int, **_: Any,
) -> None:  # fmt: skip
    """As many ids as asked, sentinels counting down, and texts that come back."""
    assert tokenizer.vocab_size == vocab_size
    assert list(tokenizer.sentinel_ids) == [vocab_size - 1 - i for i in range(n_sentinels)]
    if kind != "wordpiece" and not lowercase:
        assert all(tokenizer.decode(tokenizer.encode(text)) == text for text in texts)


@fuzz(segment_ids_of, calls(ids=ids(2) | ids(1), sep_id=st.integers(-1, 4)))
def test_segment_ids_of(segments: Tensor, ids: Tensor, sep_id: int) -> None:
    """0 up to the first separator, 1 behind."""
    assert segments.shape == ids.shape
    assert segments.dtype == torch.int64
    rows = (segments.tolist(), ids.tolist())
    for row, text in zip(*(rows if ids.dim() == 2 else ([rows[0]], [rows[1]])), strict=True):
        if ids.dim() not in (1, 2):
            continue
        first = text.index(sep_id) + 1 if sep_id in text else len(text)
        assert row == [0] * first + [1] * (len(text) - first)


ROWS = ids(1, wrong=False).map(torch.flatten)
PAIRS = st.lists(st.tuples(ROWS, ROWS), max_size=3)


@fuzz(truncate_pair, calls(first=ROWS, second=ROWS, n_tokens=sizes(12, 0)))
def test_truncate_pair(pair: Any, first: Tensor, second: Tensor, n_tokens: int) -> None:
    """Beginnings that fit, and no more is lost than must be."""
    a, b = pair
    assert torch.equal(a, first[: len(a)])
    assert torch.equal(b, second[: len(b)])
    assert len(a) + len(b) == min(n_tokens, len(first) + len(second))


@fuzz(
    pack_ids,
    calls(
        pairs=PAIRS,
        cls_id=st.just(20),
        sep_id=st.just(21),
        pad_id=st.just(22),
        max_len=st.none() | sizes(12, 3),
    ),
)
def test_pack_ids(packed: Packed, pairs: Any, max_len: int | None, **_: Any) -> None:
    """[CLS] A [SEP] B [SEP], then padding."""
    assert packed.ids.shape == packed.segment_ids.shape == packed.attention_mask.shape
    assert max_len is None or packed.ids.shape[1] <= max_len
    for row, real, (first, second) in zip(packed.ids, packed.attention_mask, pairs, strict=True):
        text = row[real].tolist()
        assert (text[0], text[-1], text.count(21)) == (20, 21, 2)
        assert max_len is not None or text == [20, *first.tolist(), 21, *second.tolist(), 21]
        assert (row[~real] == 22).all()


@fuzz(
    pack_pairs,
    calls(
        pairs=st.lists(st.tuples(TEXTS, TEXTS), max_size=2),
        tokenizer=st.just(TOKENIZER),
        max_len=st.none() | sizes(12, 3),
    ),
)
def test_pack_pairs(packed: Packed, pairs: Any, max_len: int | None, **_: Any) -> None:
    """One row for each, no longer than allowed."""
    assert len(packed.ids) == len(pairs)
    assert max_len is None or packed.ids.shape[1] <= max_len


SENTENCES = st.integers(1, 4).map(lambda n: torch.arange(n))
DOCUMENTS = st.lists(
    st.lists(mostly(SENTENCES, st.just(torch.zeros(0, dtype=torch.int64))), max_size=5), max_size=4
)


@fuzz(find_segments, calls(documents=DOCUMENTS, max_tokens=sizes(8)))
def test_find_segments(segments: Segments, documents: Any, max_tokens: int) -> None:
    """One for each sentence, whole ones of its document, no longer than allowed."""
    numbers = [d for d, document in enumerate(documents) for _ in document]
    sentences = [sentence for document in documents for sentence in document]
    assert segments.documents.tolist() == numbers
    assert ((segments.lens >= 1) & (segments.lens <= max_tokens)).all()
    for i, end in enumerate(segments.ends.tolist()):
        assert set(numbers[i:end]) == {numbers[i]}
        text = torch.cat(sentences[i:end])[:max_tokens]
        assert torch.equal(segments.tokens(torch.tensor([i]))[0], text)


CLEAN = st.lists(st.lists(SENTENCES, max_size=6), min_size=1, max_size=4).filter(any)
SEGMENTS = st.builds(find_segments, CLEAN, st.integers(1, 6))
DRAWS = {"segments": SEGMENTS, "n_pairs": sizes(6, 0), "generator": GENERATORS}


def are_pairs(pairs: Pairs, segments: Segments, n_pairs: int, follow: Tensor) -> None:
    """Check numbers, and that the chosen ones follow each other in one document."""
    assert all(part.shape == (n_pairs,) for part in pairs)
    assert torch.equal(segments.ends[pairs.first[follow]], pairs.second[follow])
    documents = segments.documents
    assert torch.equal(documents[pairs.first[follow]], documents[pairs.second[follow]])


@fuzz(true_pairs, calls(**DRAWS))
def test_true_pairs(pairs: Pairs, segments: Segments, n_pairs: int, **_: Any) -> None:
    """All follow each other."""
    are_pairs(pairs, segments, n_pairs, pairs.labels == 0)
    assert (pairs.labels == 0).all()


@fuzz(next_sentence_pairs, calls(**DRAWS, reach=st.none() | sizes(4)))
def test_next_sentence_pairs(
    pairs: Pairs, segments: Segments, n_pairs: int, reach: int | None, **_: Any
) -> None:
    """Label 0 follows; label 1 is of another document, or near but apart."""
    are_pairs(pairs, segments, n_pairs, pairs.labels == 0)
    wrong = pairs.labels == 1
    same = segments.documents[pairs.first] == segments.documents[pairs.second]
    assert (same[wrong] == (reach is not None)).all()
    if reach is not None:
        true = segments.ends[pairs.first]
        assert ((pairs.second - true).abs() <= reach).all()


@fuzz(sentence_order_pairs, calls(**DRAWS))
def test_sentence_order_pairs(pairs: Pairs, segments: Segments, n_pairs: int, **_: Any) -> None:
    """Label 1 is swapped."""
    swapped = pairs.labels == 1
    first = torch.where(swapped, pairs.second, pairs.first)
    second = torch.where(swapped, pairs.first, pairs.second)
    straight = Pairs(first, second, torch.zeros_like(pairs.labels))
    are_pairs(straight, segments, n_pairs, straight.labels == 0)


@st.composite
def states(draw: DrawFn) -> dict[str, Any]:
    """Draw states with their padding."""
    found = draw(floats(3, longest=5, special=False))
    fits = found.dim() == 3 and found.shape[1] > 0
    mask = draw(mostly(padded(*found.shape[:2]) if fits else masks(), masks()))
    pooling = mostly(st.sampled_from(["mean", "first", "last"]), st.just("max"))
    return {"states": found, "attention_mask": mask, "pooling": draw(pooling)}


@fuzz(pool_states, states())
def test_pool_states(pooled: Tensor, states: Tensor, attention_mask: Tensor, **_: Any) -> None:
    """One vector for each text, between its smallest and largest numbers."""
    assert pooled.shape == (len(states), states.shape[2])
    for vector, row, real in zip(pooled, states, attention_mask, strict=True):
        seen = row[real]
        assert (vector >= seen.amin(dim=0) - 1e-2).all()
        assert (vector <= seen.amax(dim=0) + 1e-2).all()


TEXT_ROWS = st.lists(mostly(st.integers(1, 6), st.just(0)).map(torch.arange), max_size=4)


@fuzz(pad_texts, calls(texts=TEXT_ROWS, pad_id=st.integers(0, V)))
def test_pad_texts(found: tuple[Tensor, Tensor | None], texts: list[Tensor], pad_id: int) -> None:
    """Every row comes back by its mask."""
    ids_, mask = found
    real = torch.ones_like(ids_, dtype=torch.bool) if mask is None else mask
    assert all(torch.equal(ids_[i][real[i]], text) for i, text in enumerate(texts))
    assert (ids_[~real] == pad_id).all()


def lengths_of(rows: Tensor, mask: Tensor | None) -> Tensor:
    """Stand in for a model: the length of each text."""
    return torch.full((len(rows),), rows.shape[1]) if mask is None else mask.sum(dim=1)


@fuzz(
    in_batches,
    calls(function=st.just(lengths_of), texts=TEXT_ROWS, pad_id=st.just(0), batch_size=sizes(3)),
)
def test_in_batches(found: Tensor, texts: list[Tensor], **_: Any) -> None:
    """In the order of the texts."""
    assert found.tolist() == [len(text) for text in texts]


@fuzz(
    length_batches,
    calls(lengths=st.lists(st.integers(0, 9), max_size=30), batch_size=sizes(4),
          generator=GENERATORS),
)  # fmt: skip
def test_length_batches(
    batches: list[list[int]], lengths: list[int], batch_size: int, **_: Any
) -> None:
    """Every text once, in batches that are full, but for one at the end of a pass."""
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    assert all(1 <= len(batch) <= batch_size for batch in batches)


@fuzz(
    encode_words,
    calls(encode=st.just(lambda text: [ord(c) for c in text if c != "-"]),
          words=st.lists(st.text("ab-", max_size=4), max_size=4)),
)  # fmt: skip
def test_encode_words(found: tuple[list[int], list[int]], words: list[str], **_: Any) -> None:
    """The last token of each word."""
    ids_, last = found
    assert "".join(map(chr, ids_)) == " ".join(words).replace("-", "")
    assert len(last) == len(words)
    assert not words or last[-1] == len(ids_) - 1


@fuzz(
    pad_rows,
    calls(rows=st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=3), pad_id=st.just(77)),
)
def test_pad_rows(found: tuple[Tensor, Tensor], rows: list[list[int]], **_: Any) -> None:
    """Every row comes back by its mask."""
    ids_, real = found
    assert ids_.dtype == torch.int64
    assert [ids_[i][real[i]].tolist() for i in range(len(rows))] == rows
    assert (ids_[~real] == 77).all()


@st.composite
def layers(draw: DrawFn) -> dict[str, Any]:
    """Draw the states of some layers with their padding."""
    n_rows, seq_len = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    found = torch.randn(draw(st.integers(1, 6)), n_rows, seq_len, 2)
    how = mostly(st.sampled_from(["first", "last", "mean", "last four layers"]), st.just("max"))
    return {"states": found, "real": draw(mostly(padded(n_rows, seq_len), masks())),
            "how": draw(how)}  # fmt: skip


@fuzz(pool, layers())
def test_pool(pooled: Tensor, states: Tensor, how: str, **_: Any) -> None:
    """One vector for each text."""
    assert pooled.shape == (states.shape[1], 8 if how == "last four layers" else 2)
    assert pooled.isfinite().all()


@st.composite
def encoded(draw: DrawFn) -> dict[str, Any]:
    """Draw examples with a class or with a label for each token."""
    tagged = draw(st.booleans())
    found = []
    for n in draw(st.lists(st.integers(0, 4), max_size=3)):
        ids_ = random_ids((n,), draw(SEEDS)).tolist()
        found.append({"input_ids": ids_, "attention_mask": [1] * n,
                      "labels": [1] * n if tagged else 1})  # fmt: skip
    return {"examples": found, "pad_id": draw(st.integers(0, V))}


@fuzz(collate, encoded())
def test_collate(batch: dict[str, Tensor], examples: list[dict[str, Any]], pad_id: int) -> None:
    """Every row comes back, and padding has no label."""
    for row, example in enumerate(examples):
        n = len(example["input_ids"])
        assert batch["input_ids"][row].tolist()[:n] == example["input_ids"]
        assert (batch["input_ids"][row][n:] == pad_id).all()
        assert batch["attention_mask"][row].sum() == n
        if isinstance(example["labels"], list):
            assert (batch["labels"][row][n:] == IGNORE_INDEX).all()


TAGGERS = [WordTagger(bert, 3).eval() for bert in BERTS]
WORDS = st.builds(
    Words, st.integers(1, 6).map(torch.arange),
    mostly(st.just(torch.tensor([0])), st.just(torch.tensor([0, 9])),
           st.just(torch.zeros(0, dtype=torch.int64))),
)  # fmt: skip


@fuzz(
    tag_words,
    calls(tagger=st.sampled_from(TAGGERS), texts=st.lists(WORDS, max_size=3), pad_id=st.just(0),
          batch_size=sizes(3)),
)  # fmt: skip
def test_tag_words(found: list[list[int]], texts: list[Words], **_: Any) -> None:
    """A class for each word."""
    assert [len(classes) for classes in found] == [len(text.ends) for text in texts]
    assert all(0 <= number < 3 for classes in found for number in classes)
