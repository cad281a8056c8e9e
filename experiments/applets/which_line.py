# SPDX-License-Identifier: MIT
"""What the game of chapter 8 asks, and what the strong GPT answers (ADV-R1).

Run `python -m experiments.applets.which_line`. Writes data/applets/which_line.json: ten speeches
from unseen plays in two versions, one with two neighbouring lines swapped, which of them stands in
the play, and what each costs the strong GPT in bits. Speeches and order are drawn before the model
is asked. Its share of right answers over all such pairs comes from plays_study.json.
"""

import json
import random
import re
from typing import Any

from torch import Tensor

from experiments.common.records import Clock, write_run
from pretrain.evaluation import nats_to_bits, token_losses
from pretrain_lab.checkpoints import load_model
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.paths import DATA, RUNS
from pretrain_lab.tasks.play_pairs import Pair, read_pairs

SEED, N_PAIRS, N_A_PLAY, MODEL = 8, 10, 2, "gpt_plays"
MOST_LINES, LONGEST = 5, 46
"""Lines of a speech, and characters of a line: both versions fit a telephone."""


def fits(pair: Pair) -> bool:
    """Tell whether a pair may be asked: short, of whole lines, up to the end of a sentence."""
    lines = pair.right.split("\n")[1:]
    is_short = len(lines) <= MOST_LINES and max(map(len, lines)) <= LONGEST
    is_whole = all(re.match("'?[A-Z]", line) for line in lines)
    return is_short and is_whole and pair.right[-1] in ".?!"


def draw() -> list[tuple[Pair, int]]:
    """Draw the pairs, at most two from a play, and the place of the play's own version.

    It stands first as often as second, so that nobody who always says the same has more than half.
    """
    found = random.Random(SEED)
    candidates = [pair for pair in read_pairs("lines", "test") if fits(pair)]
    chosen: list[Pair] = []
    for pair in found.sample(candidates, len(candidates)):
        if len(chosen) < N_PAIRS and sum(one.play == pair.play for one in chosen) < N_A_PLAY:
            chosen.append(pair)
    places = [0, 1] * (N_PAIRS // 2)
    found.shuffle(places)
    return list(zip(chosen, places, strict=True))


def as_name(speaker: str) -> str:
    """Write a speaker's name as prose does: DUKE OF YORK → Duke of York."""
    words = [
        word
        if re.fullmatch("[IVX]+", word)
        else word.lower()
        if word == "OF"
        else word.capitalize()
        for word in speaker.split()
    ]
    return " ".join(words)


def bits_of(text: str) -> float:
    """Add up what the strong GPT pays for the characters of a text after a line end."""
    model, tokenizer = load_model(MODEL)
    ids: Tensor = tokenizer.encode("\n" + text)
    return nats_to_bits(token_losses(model, ids, seq_len=len(ids) - 1).sum().item())


def which_line() -> dict[str, Any]:
    """Draw the speeches and ask the model."""
    titles = {play.slug: play.title for play in load_shakespeare("test")}
    items = []
    for pair, right in draw():
        speaker, _, _ = pair.right.partition(":\n")
        versions = [pair.right, pair.wrong] if right == 0 else [pair.wrong, pair.right]
        items.append({
            "play": titles[pair.play], "speaker": as_name(speaker),
            "versions": [text.partition("\n")[2] for text in versions], "right": right,
            "bits": [bits_of(text) for text in versions],
        })  # fmt: skip
    study = json.loads((RUNS / "plays_study.json").read_text(encoding="utf-8"))["tasks"]["lines"]
    return {
        "question": "Which of the two stands in the play? bits: what each costs the model",
        "model": MODEL, "seed": SEED, "items": items,
        "of_all": {"n": study["n_test"], "right": study["arms"]["asked"]["accuracy"]},
    }  # fmt: skip


if __name__ == "__main__":
    clock = Clock()
    write_run("which_line", which_line(), clock, folder=DATA / "applets")
