# SPDX-License-Identifier: MIT
"""Examples for fine-tuning: where labels of words and ends of spans land, and what padding adds."""

from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.processors import TemplateProcessing

from pretrain.objectives import IGNORE_INDEX
from pretrain.tuning_examples import collate, encode_classes, encode_span, encode_tags

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "met", "##ell", "##us", "go", ":", "we"]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """Make a word-piece tokeniser of ten pieces in the form of `transformers`."""
    from transformers import PreTrainedTokenizerFast

    vocab = {piece: i for i, piece in enumerate(PIECES)}
    backend = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )  # fmt: skip
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip


def test_a_word_is_labelled_at_its_first_piece(tokenizer: Any) -> None:
    """go met ##ell ##us we: three labels, the rest is ignored."""
    found = encode_tags(["go", "metellus", "we"], [0, 1, 2], tokenizer)
    assert found["input_ids"] == [2, 7, 4, 5, 6, 9, 3]
    no = IGNORE_INDEX
    assert found["labels"] == [no, 0, 1, no, no, 2, no]
    with pytest.raises(ValueError, match="a label for each of 2 words, got 1"):
        encode_tags(["go", "we"], [0], tokenizer)


def test_equal_words_in_a_row_are_two_words(tokenizer: Any) -> None:
    """The border between words is their number, not their letters."""
    assert encode_tags(["we", "we"], [1, 2], tokenizer)["labels"] == [-100, 1, 2, -100]


def test_a_span_is_found_in_the_second_text(tokenizer: Any) -> None:
    """[CLS] go [SEP] metellus : go [SEP]: the name is tokens 3 to 5; half a token is none."""
    found = encode_span("go", "metellus: go", 0, 8, tokenizer)
    assert found is not None
    assert found["input_ids"] == [2, 7, 3, 4, 5, 6, 8, 7, 3]
    assert (found["start_positions"], found["end_positions"]) == (3, 5)
    assert encode_span("go", "go  we", 2, 3, tokenizer) is None  # a blank is no token


def test_pairs_are_told_apart(tokenizer: Any) -> None:
    """A pair's second text has type 1; a single text has none; options reach the tokeniser."""
    pair, single = encode_classes([("go", "we"), "metellus"], [1, 0], tokenizer)
    assert pair["token_type_ids"] == [0, 0, 0, 1, 1]
    assert (pair["labels"], single["labels"]) == (1, 0)
    (cut,) = encode_classes(["metellus"], [0], tokenizer, truncation=True, max_length=4)
    assert cut["input_ids"] == [2, 4, 5, 3]


def test_a_batch_is_padded_on_the_right(tokenizer: Any) -> None:
    """Ids with the given id, masks with 0, labels of words with IGNORE_INDEX."""
    examples = [encode_tags(words, [0] * len(words), tokenizer) for words in (["go"], ["go", "we"])]
    batch = collate(examples, pad_id=9)
    assert batch["input_ids"].tolist() == [[2, 7, 3, 9], [2, 7, 9, 3]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert batch["labels"].tolist() == [[-100, 0, -100, -100], [-100, 0, 0, -100]]
    classes = collate(encode_classes(["go", "go we"], [1, 0], tokenizer), pad_id=0)
    assert classes["labels"].tolist() == [1, 0]
    with pytest.raises(ValueError, match="at least one example"):
        collate([], pad_id=0)
