# SPDX-License-Identifier: MIT
"""The study of span lengths can be run again: every arm trains and is asked."""

import pytest
import torch
from torch import Generator

from experiments.ch06_t5 import span_lengths as study
from pretrain_lab.tokenizers.subwords import load_tokenizer

TOKENIZER = load_tokenizer("plays_bpe")
IDS = torch.randint(10, 2_000, (4_000,), generator=Generator().manual_seed(0))


@pytest.mark.parametrize("name", list(study.ARMS))
def test_every_arm_trains(name: str) -> None:
    """Two steps give finite losses and scores; fewer tokens are read than in the window."""
    arm = study.ARMS[name]
    questions = {"single_token": study.ask_spans(TOKENIZER, IDS, 1, 4)}
    found = study.run_arm(arm, 0, TOKENIZER, IDS, questions, [(48, 2, 2, 0.01, 0.5)])
    assert 4 < found["own_loss_nats"] < 60
    assert 0 <= found["single_token_exact"] <= 1
    lens = study.arm_lens(arm)
    assert lens["n_noise"] == pytest.approx(arm["noise_density"] * study.SEQ_LEN, abs=1)
    assert lens["input_len"] < study.SEQ_LEN + 2
