# SPDX-License-Identifier: MIT
"""Fine-tuning `transformers` models: the classifier, the loss, and answers of every head."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Generator, Tensor, nn

from pretrain.fine_tuning import (
    SentenceClassifier,
    answers,
    read_class,
    read_span,
    read_tags,
    tuning_loss,
)
from pretrain.training import fit
from pretrain.tuning_examples import Encoded


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
    loss = tuning_loss(EXAMPLES, batch_size=4, pad_id=0)
    history = fit(model, loss, n_steps=80, lr=1e-2, n_warmup=4, progress=False,
                  generator=Generator().manual_seed(0))  # fmt: skip
    assert abs(history.losses[0] - 0.69) < 0.3
    assert history.losses[-1] < 0.1
    assert answers(model, EXAMPLES, read_class, pad_id=0) == [0, 1, 1, 0]


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

    loss, generator = tuning_loss(EXAMPLES, batch_size=2, pad_id=0), Generator().manual_seed(0)
    for _ in range(4):
        loss(Spy(), generator)
    for half in (seen[:4], seen[4:]):
        assert sorted(half) == sorted(e["input_ids"] for e in EXAMPLES)
    with pytest.raises(ValueError, match="at least one example"):
        tuning_loss([], batch_size=2, pad_id=0)


def test_answers_keep_the_order_and_hide_what_is_asked() -> None:
    """Texts are sorted for reading and sorted back; labels are not shown; dropout is off."""

    class Spy(nn.Module):
        """Answers with the second id."""

        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
            """Fail with a TypeError when labels come; fail in training mode."""
            assert not self.training
            return {"logits": nn.functional.one_hot(input_ids[:, 1], 11)}

    model = Spy().train()
    assert answers(model, EXAMPLES, read_class, pad_id=0, batch_size=3) == [7, 5, 4, 6]
    assert model.training


def test_tags_are_read_where_labels_stand() -> None:
    """Only places with a label are read, padding behind the example is not."""
    scores = torch.eye(3)[torch.tensor([[2, 1, 0, 2, 2, 1]])]
    asked = example([2, 5, 6, 7, 3], labels=[-100, 0, -100, 0, -100])
    assert read_tags({"logits": scores}, asked, 0) == [1, 2]


def test_a_span_ends_after_it_starts() -> None:
    """The best pair of ends lies in the second text and is short, whatever single scores say."""
    asked = example([2, 5, 3, 6, 7, 8, 3], token_type_ids=[0, 0, 0, 1, 1, 1, 1])
    start = torch.tensor([[9.0, 9.0, 9.0, 0.0, 1.0, 5.0, 9.0]])
    end = torch.tensor([[9.0, 9.0, 9.0, 4.0, 3.0, 0.0, 9.0]])
    output = {"start_logits": start, "end_logits": end}
    # start + end: (3,3) 4, (3,4) 3, (3,5) 0, (4,4) 4, (4,5) 1, (5,5) 5
    assert read_span(output, asked, 0) == (5, 5)
    start[0, 5] = 0.0
    end[0, 5] = 7.0  # now (3,5) 7, (4,5) 8
    assert read_span(output, asked, 0) == (4, 5)
    assert partial(read_span, max_len=1)(output, asked, 0) == (5, 5)
