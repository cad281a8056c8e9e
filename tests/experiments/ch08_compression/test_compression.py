# SPDX-License-Identifier: MIT
"""Code lengths of whole texts, what has paid for itself, and arms that are kept."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from experiments.ch08_compression import __main__ as compression
from experiments.ch08_compression import code_lengths
from experiments.ch08_compression.domain_shift import genres
from pretrain.gpt import GPT
from pretrain_lab.baselines.kneser_ney import KneserNey


@pytest.mark.parametrize("length", [13, 14, 18, 19, 31, 40])
def test_every_token_is_paid_once(tiny_gpt: Callable[..., GPT], length: int) -> None:
    """The lengths equal those of single passes, each with at least half a context."""
    model = tiny_gpt().float()
    ids = torch.randint(11, (length,))
    lengths = code_lengths.code_lengths(model, ids, 11)
    assert lengths.shape == (length,)
    assert lengths[0] == pytest.approx(math.log2(11))
    limit = model.config.max_len
    for place in range(1, length):
        found = []
        for start in range(max(0, place - limit), max(1, place - limit // 2 + 1)):
            with torch.inference_mode():
                log_probs = model(ids[None, start:place])[0, -1].log_softmax(dim=-1)
            found.append(-log_probs[ids[place]].item() / math.log(2))
        assert min(abs(value - lengths[place].item()) for value in found) < 1e-3


def test_learning_counts_never_look_ahead() -> None:
    """A changed ending leaves all earlier code lengths as they were."""
    ids = np.random.default_rng(0).integers(0, 5, size=1500)
    changed = ids.copy()
    changed[1400:] = 0
    one, other = (
        code_lengths.adaptive_lengths(text, 3, 5) for text in (ids, changed)
    )  # fmt: skip
    assert np.array_equal(one[:1400], other[:1400])
    assert not np.array_equal(one[1400:], other[1400:])
    assert one[:500] == pytest.approx(math.log2(5))  # nothing was read yet


def test_learning_counts_after_reading() -> None:
    """The first chunk is what frozen counts give; the context before it is used."""
    text = np.random.default_rng(1).integers(0, 4, size=900)
    found = code_lengths.adaptive_lengths(text[600:], 3, 4, before=text[:600])
    frozen = KneserNey(3, 4).fit(text[:600]).log_probs(text)[600:]
    assert found == pytest.approx(-frozen / math.log(2))


def test_bits_of_tokens_on_characters() -> None:
    """A token's bits stand on its first character; the sum stays."""
    spread = code_lengths.by_character(torch.tensor([2.0, 5.0]), ["to", " be"], 5)
    assert spread.tolist() == [2.0, 0.0, 5.0, 0.0, 0.0]
    with pytest.raises(AssertionError, match="spell"):
        code_lengths.by_character(torch.tensor([2.0]), ["to"], 5)


def test_break_even() -> None:
    """1,000 bytes against half a bit a character are paid after 16,000; a worse model never."""
    assert compression.break_even(1000, 2.5, 2.0) == 16_000
    assert compression.break_even(1000, 2.0, 2.5) is None


def test_primed_file_knows_its_text() -> None:
    """A text that was read already adds next to nothing."""
    text = "".join(map(chr, np.random.default_rng(2).integers(97, 123, size=4000)))
    assert compression.judge_primed(text, text)["bits"] < 0.5
    assert compression.judge_files(text, [text])["xz"]["bits"] > 4


def test_genres_share_no_play() -> None:
    """A fold's texts are equally long and hold none of its own plays; headings are marked."""
    from pretrain_lab.corpora.loading import load_shakespeare

    plays = {name: [p for p in load_shakespeare() if p.genre == name] for name in genres.GENRES}
    for fold in range(genres.N_FOLDS):
        texts = genres.genre_texts(plays, fold, None)
        assert len({len(text) for text in texts.values()}) == 1
        for name in genres.GENRES:
            for play in plays[name][fold :: genres.N_FOLDS]:
                assert play.text[2000:2100] not in texts[name]
    play = plays["comedies"][0]
    marked = genres.heading_mask(play)
    first = play.speeches[0]
    assert marked[: len(first.speaker) + 2].all()
    spoken = "".join(c for c, mark in zip(play.text, marked, strict=True) if not mark)
    assert spoken == "".join(speech.text for speech in play.speeches)
