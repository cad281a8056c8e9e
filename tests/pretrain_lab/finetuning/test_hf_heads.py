# SPDX-License-Identifier: MIT
"""Fine-tuning `transformers` models: the classifier, the loss, and answers of every head.

Examples for fine-tuning: where labels of words and ends of spans land, and what padding adds.
"""

from functools import partial
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.processors import TemplateProcessing
from torch import Generator, Tensor, nn

from pretrain.objectives import IGNORE_INDEX
from pretrain.training import OptimConfig, fit
from pretrain_lab.finetuning.hf_heads import (
    Encoded,
    SentenceClassifier,
    collate,
    decode_class,
    decode_span,
    decode_tags,
    encode_classes,
    encode_span,
    encode_tags,
    hf_loss,
    predict_hf,
)


def example(ids: list[int], **asked: Any) -> Encoded:
    """Make an encoded text."""
    return {"input_ids": ids, "attention_mask": [1] * len(ids), **asked}


def encoder() -> Any:
    """Build a tiny BERT, always with the same weights."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=11, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=12, initializer_range=0.3,
        hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1,
    )  # fmt: skip
    return BertModel(config, add_pooling_layer=False).eval()


EXAMPLES = [
    example([2, 7, 8, 9, 3], labels=0),
    example([2, 5, 3], labels=1),
    example([2, 4, 4, 8, 9, 3], labels=1),
    example([2, 6, 3], labels=0),
]


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_neighbours_change_no_score(pooling: str) -> None:
    """A text alone and beside a longer one: same scores; the loss is the mean cross-entropy."""
    model = SentenceClassifier(encoder(), 2, pooling=pooling).eval()
    ids, mask = torch.tensor([[2, 5, 3, 0], [2, 7, 8, 3]]), torch.tensor([[1, 1, 1, 0], [1] * 4])
    with torch.no_grad():
        both = model(ids, mask, torch.tensor([1, 0]))
        alone = model(ids[:1, :3], mask[:1, :3])["logits"]
    torch.testing.assert_close(both["logits"][:1], alone, rtol=0, atol=1e-5)
    expected = -both["logits"].log_softmax(dim=-1)[[0, 1], [1, 0]].mean()
    torch.testing.assert_close(both["loss"], expected)


def test_one_batch_is_learned_by_heart() -> None:
    """Loss starts near ln 2 and falls to nothing; then every answer is right."""
    torch.manual_seed(0)
    model = SentenceClassifier(encoder(), 2)
    loss = hf_loss(EXAMPLES, batch_size=4, pad_id=0)
    generator = Generator().manual_seed(0)
    history = fit(model, loss, OptimConfig(lr=1e-2, n_warmup=4), n_steps=80, generator=generator)
    assert abs(history.losses[0] - 0.69) < 0.3
    assert history.losses[-1] < 0.1
    assert predict_hf(model, EXAMPLES, decode_class, pad_id=0) == [0, 1, 1, 0]


def test_every_example_is_seen_once_in_a_pass() -> None:
    """Two batches of two hold all four texts, and the next pass begins again."""
    seen: list[list[int]] = []

    class Spy(nn.Module):
        """Notes what it is shown."""

        def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> Any:
            """Note the rows without padding."""
            lengths = attention_mask.sum(dim=1)
            seen.extend(r[:n].tolist() for r, n in zip(input_ids, lengths, strict=True))
            return {"loss": input_ids.sum()}

    loss, generator = hf_loss(EXAMPLES, batch_size=2, pad_id=0), Generator().manual_seed(0)
    for _ in range(4):
        loss(Spy(), generator)
    for half in (seen[:4], seen[4:]):
        assert sorted(half) == sorted(e["input_ids"] for e in EXAMPLES)
    with pytest.raises(ValueError, match="at least one example"):
        hf_loss([], batch_size=2, pad_id=0)


def test_answers_keep_the_order_and_hide_what_is_asked() -> None:
    """Texts are sorted for reading and sorted back; labels are not shown; dropout is off."""

    class Spy(nn.Module):
        """Answers with the second id."""

        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
            """Fail with a TypeError when labels come; fail in training mode."""
            assert not self.training
            return {"logits": nn.functional.one_hot(input_ids[:, 1], 11)}

    model = Spy().train()
    assert predict_hf(model, EXAMPLES, decode_class, pad_id=0, batch_size=3) == [7, 5, 4, 6]
    assert model.training


def test_tags_are_read_where_labels_stand() -> None:
    """Only places with a label are read, padding behind the example is not."""
    scores = torch.eye(3)[torch.tensor([[2, 1, 0, 2, 2, 1]])]
    asked = example([2, 5, 6, 7, 3], labels=[-100, 0, -100, 0, -100])
    assert decode_tags({"logits": scores}, asked, 0) == [1, 2]


def test_a_span_ends_after_it_starts() -> None:
    """The best pair of ends lies in the second text and is short, whatever single scores say."""
    asked = example([2, 5, 3, 6, 7, 8, 3], token_type_ids=[0, 0, 0, 1, 1, 1, 1])
    start = torch.tensor([[9.0, 9.0, 9.0, 0.0, 1.0, 5.0, 9.0]])
    end = torch.tensor([[9.0, 9.0, 9.0, 4.0, 3.0, 0.0, 9.0]])
    output = {"start_logits": start, "end_logits": end}
    # start + end: (3,3) 4, (3,4) 3, (3,5) 0, (4,4) 4, (4,5) 1, (5,5) 5
    assert decode_span(output, asked, 0) == (5, 5)
    start[0, 5] = 0.0
    end[0, 5] = 7.0  # now (3,5) 7, (4,5) 8
    assert decode_span(output, asked, 0) == (4, 5)
    assert partial(decode_span, max_len=1)(output, asked, 0) == (5, 5)


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
