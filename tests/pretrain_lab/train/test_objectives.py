# SPDX-License-Identifier: MIT
"""The prefix language model of the command: what it reads, what it predicts, what is refused."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from train_runs import content, history, launch, train_until, write_toml

from pretrain.gpt import GPT
from pretrain.masks import causal_mask
from pretrain.objectives import IGNORE_INDEX, Batch, causal_targets, collate
from pretrain_lab.checkpoints import load_model
from pretrain_lab.paths import ROOT
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.train.config import check_config, load_config
from pretrain_lab.train.objectives import (
    KINDS,
    CausalOptions,
    Objective,
    PrefixOptions,
    make_objective,
    n_predicted,
)
from pretrain_lab.train.options import ConfigError
from pretrain_lab.train.seeds import keyed_generator

SEQ_LEN = 9
TOKENIZER = CharTokenizer("abcdefghi")  # with two special tokens: the 11 ids of tiny_gpt


def prefix(shortest: int = 1, longest: int | None = None) -> Objective:
    """Make the objective for windows of ten tokens."""
    options = PrefixOptions(kind="prefix", min_prefix_len=shortest, max_prefix_len=longest)
    return make_objective(options, TOKENIZER, SEQ_LEN)


def windows(n: int) -> Tensor:
    """Draw windows of ten tokens, int64 (n, 10)."""
    draws = torch.Generator().manual_seed(3)
    return torch.randint(2, 11, (n, SEQ_LEN + 1), generator=draws)


def batch_of(objective: Objective, n: int = 6) -> Batch:
    """Make the batch of a step's samples 0..n - 1, each with its own generator."""
    return objective.batch([(row, keyed_generator(0, 0, i)) for i, row in enumerate(windows(n))])


def read_with(objective: Objective, model: GPT, batch: Batch) -> tuple[dict[str, Any], Tensor]:
    """Compute the loss, and give what the model was called with and its logits."""
    calls: list[Any] = []
    hook = model.register_forward_hook(
        lambda _, given, named, logits: calls.append((named, logits)), with_kwargs=True
    )
    objective.loss_sum(model, batch)
    hook.remove()
    ((named, logits),) = calls
    return named, logits


@pytest.mark.parametrize("length", [0, 1])
def test_without_a_prefix_it_is_the_causal_loss(tiny_gpt: Any, length: int) -> None:
    """Bit by bit, and so is a prefix of one token, which every position sees anyway."""
    model = tiny_gpt()
    causal = make_objective(CausalOptions(kind="causal"), TOKENIZER, SEQ_LEN)
    one, other = batch_of(prefix(length, length)), batch_of(causal)
    assert torch.equal(one.inputs, other.inputs)
    assert torch.equal(one.labels, other.labels)
    assert torch.equal(prefix(0, 0).loss_sum(model, one), causal.loss_sum(model, other))


def test_only_what_follows_the_prefix_is_predicted(tiny_gpt: Any) -> None:
    """Each label is the next token, and the loss is the sum over these labels alone."""
    objective, model = prefix(4, 4), tiny_gpt()
    batch, rows = batch_of(objective), windows(6)
    assert torch.equal(batch.labels[:, :3], torch.full((6, 3), IGNORE_INDEX))
    assert torch.equal(batch.labels[:, 3:], rows[:, 4:])  # position 3 has read four tokens
    assert n_predicted(batch) == 6 * (SEQ_LEN + 1 - 4)
    scores = model(batch.inputs, prefix_lens=torch.full((6,), 4)).log_softmax(dim=-1)
    places = scores[:, 3:].gather(2, rows[:, 4:, None])
    expected = -places.sum().float()
    assert torch.isclose(objective.loss_sum(model, batch), expected, rtol=1e-5)


def test_who_reads_whom(tiny_gpt: Any) -> None:
    """A target token changes no earlier logit, a token of the prefix changes earlier ones too."""
    objective, model = prefix(4, 4), tiny_gpt()
    batch = batch_of(objective, 1)
    _, before = read_with(objective, model, batch)
    allowed = causal_mask(SEQ_LEN)
    allowed[:, :4] = True
    for place in range(SEQ_LEN):
        changed = batch.inputs.clone()
        changed[0, place] = 2 + (changed[0, place] - 1) % 9  # another ordinary token
        _, after = read_with(objective, model, batch._replace(inputs=changed))
        moved = (after - before).abs().amax(dim=2)[0] > 0
        assert torch.equal(moved, allowed[:, place]), place


def test_the_model_is_told_the_prefix_of_each_row(tiny_gpt: Any) -> None:
    """Rows with prefixes of 1, 4 and 9 tokens, recovered from the labels."""
    objective = prefix()
    pairs = [
        prefix(n, n).corrupt(row, torch.Generator())
        for n, row in zip((1, 4, 9), windows(3), strict=True)
    ]
    named, logits = read_with(objective, tiny_gpt(), collate(pairs, pad_id=0))
    assert named["prefix_lens"].tolist() == [1, 4, 9]
    assert logits.shape == (3, SEQ_LEN, 11)


def test_every_length_is_drawn_equally_often_by_the_samples_own_generator() -> None:
    """A sample's length depends on nothing but its key; within 4 sigma of the uniform share."""
    objective, n = prefix(2, 5), 2000
    lens = [(row == IGNORE_INDEX).sum().item() + 1 for row in batch_of(objective, n).labels]
    assert set(lens) == {2, 3, 4, 5}
    for length in set(lens):
        assert abs(lens.count(length) / n - 1 / 4) <= 4 * (1 / 4 * 3 / 4 / n) ** 0.5
    row = windows(n)[1234]
    alone = objective.batch([(row, keyed_generator(0, 0, 1234))])
    assert (alone.labels == IGNORE_INDEX).sum() + 1 == lens[1234]
    assert torch.equal(alone.inputs[0], causal_targets(row)[0])


@pytest.mark.parametrize(
    ("shortest", "longest", "given"), [(3, 2, "3 and 2"), (0, 10, "0 and 10"), (10, None, "10 and")]
)
def test_lengths_that_do_not_fit_are_refused(
    shortest: int, longest: int | None, given: str
) -> None:
    """The message names both limits, the window, and what came."""
    message = r'kind = "prefix": expected min_.* <= data.seq_len = 9, got ' + given
    with pytest.raises(ConfigError, match=message):
        prefix(shortest, longest)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("min_prefix_len", -1, r"min_prefix_len: expected a whole number >= 0, got -1"),
        ("max_prefix_len", 2.5, r"max_prefix_len: expected a whole number >= 0, got 2.5"),
        ("prefix_len", 3, r"unknown option objective.prefix_len: .* objective.min_prefix_len"),
    ],
)
def test_options_of_another_kind_are_refused(
    tmp_path: Path, option: str, value: Any, message: str
) -> None:
    """When the configuration is read, before anything is made."""
    made = content(tmp_path, "prefix")
    made["objective"][option] = value
    with pytest.raises(ConfigError, match=message):
        check_config(made)


def test_the_command_resumes_it_exactly(tmp_path: Path) -> None:
    """Stopped in the middle, then given again: the same losses and weights as without the stop."""
    files = {}
    for name in ("whole", "stopped"):
        made = content(tmp_path, "prefix", output__folder=str(tmp_path / name))
        files[name] = write_toml(tmp_path / f"{name}.toml", made)
    launch("pretrain_lab.train", "--config", str(files["whole"]), "--cpu")
    train_until(load_config(files["stopped"]), 7)
    done = launch("pretrain_lab.train", "--config", str(files["stopped"]), "--cpu")
    assert "step 4 of 12" in done.stdout
    assert history(tmp_path / "stopped") == history(tmp_path / "whole")
    model, tokenizer = load_model(tmp_path / "stopped" / "model.safetensors")
    expected, _ = load_model(tmp_path / "whole" / "model.safetensors")
    for name, value in expected.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name
    assert isinstance(model, GPT)
    ids = tokenizer.encode("abc de fgh")[None]
    assert torch.isfinite(model(ids, prefix_lens=torch.tensor([2]))).all()


def test_the_example_reads_and_predicts_all_of_the_window() -> None:
    """Prefixes of 1 to 64 tokens of windows of 65."""
    made = load_config(ROOT / "experiments" / "configs" / "prefix_lm.toml")
    assert (made.objective.min_prefix_len, made.objective.max_prefix_len) == (1, made.data.seq_len)


def test_a_kind_stands_in_one_module() -> None:
    """No other part of the command names one, so a new kind changes no line of another module."""
    for path in (ROOT / "code" / "pretrain_lab" / "train").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        named = [kind for kind in KINDS if f'"{kind}"' in text]
        assert named == (list(KINDS) if path.name == "objectives.py" else []), path.name
