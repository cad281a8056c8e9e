# SPDX-License-Identifier: MIT
"""Ways to say which of two versions stands in the play."""

import numpy as np
import pytest
import torch
from torch import Generator, Tensor, nn

from experiments.ch08_labels.plays import methods
from pretrain_lab.tasks.play_pairs import Pair

TWO = [Pair("Who is there?", "Who is there.", "a"), Pair("I am here.", "I am here?", "b")]


def test_equal_scores_count_a_half() -> None:
    """A method that cannot tell the two apart is right half of the time."""
    assert methods.ask(lambda texts: np.zeros(len(texts)), TWO) == [0.5, 0.5]
    assert methods.ask(lambda texts: np.array([t[-1] == "?" for t in texts]), TWO) == [1, 0]
    assert methods.ask(methods.mark_rule, TWO) == [1, 1]


def test_rules_by_hand() -> None:
    """Openers of a clause are skipped; a question word counts only where a clause begins."""
    asks = ["But soft, and will he come?", "I know not what he will do?"]
    assert methods.mark_rule(asks).tolist() == [1, 0]
    assert methods.seam("of England here.", "A strange beginning:") == (".", "a")
    assert methods.seam("the King of France", "'Tis so") == ("", "'tis")
    seams = methods.counted_seams()
    assert seams[".", "and"] < seams[",", "and"], "after a full stop something new begins"
    speech = ["ROMEO:\nMy lord, I came", "And saw the king,", "And went away."]
    right, wrong = "\n".join(speech), "\n".join([speech[0], speech[2], speech[1]])
    assert np.diff(methods.line_rule([wrong, right]))[0] > 0


def test_a_language_model_is_asked_for_whole_texts() -> None:
    """The log-probabilities of all characters behind the first line break, whatever stands beside.

    So scores of texts asked one by one are those of texts asked together.
    """
    texts = ["Who is there?", "Nay, answer me: stand, and unfold yourself."]
    together = methods.by_gpt(texts)
    alone = np.concatenate([methods.by_gpt([text]) for text in texts])
    assert np.allclose(together, alone, atol=0.5)  # bfloat16 where the processor has it
    assert -4 < together[1] / len(texts[1]) < -0.5, "nats a character"
    assert methods.by_gpt(["Who is there?"]) > methods.by_gpt(["Wh oist heer?"])


class FirstId(nn.Module):
    """Scores a text by its first id."""

    def forward(self, ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Give two logits for each text, (B, 2)."""
        first = ids[:, 0].float()
        return torch.stack([torch.zeros_like(first), first], dim=1)


def test_the_loss_of_a_pair_is_the_logistic_of_the_lead() -> None:
    """By hand: leads of 3 and of -1; every pair comes once in a pass."""
    texts = [(torch.tensor([5, 1]), torch.tensor([2, 1])), (torch.tensor([4]), torch.tensor([5]))]
    loss = methods.PairLoss(texts)
    expected = np.mean([np.log1p(np.exp(-3)), np.log1p(np.exp(1))])
    assert float(loss(FirstId(), Generator().manual_seed(0))) == pytest.approx(expected)


def test_counted_words_learn_from_pairs() -> None:
    """More often right on validation pairs than a guess, and the same at each call."""
    runs = [methods.run("words", "lines", {"analyzer": "word", "n_gram": 3, "C": 10.0}, 256, 0, 50)
            for _ in "ab"]  # fmt: skip
    assert runs[0].hits == runs[1].hits
    assert runs[0].validation > 0.5
