# SPDX-License-Identifier: MIT
"""What is measured at each look of the time machines: losses, first guesses by kind, and texts.

A *look* takes a model and the steps that it has done, and returns numbers and short texts. All
held-out text comes from the validation plays. The line of the fixed places is from a test play; it
was chosen as a well-known line, before any model was asked. Left out: what the weights hold.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from pretrain.evaluation import cloze_log_probs, eval_mode, nats_to_bits
from pretrain.generation import Sampling, generate
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.statistics.intervals import wilson_interval
from pretrain_lab.tokenizers.characters import CharTokenizer

PROMPT = "\n\n"  # a new speech: next comes the heading of its speaker
N_TEXTS, TEXT_LEN = 200, 60
LINE = "\nIs this a dagger which I see\n"
PLACES = (7, 10, 14, 19)  # s of this, the blank after a, the second g of dagger, h of which
HEADING = re.compile(r"[A-Z][A-Za-z' ]*:\n")
KINDS = ("space or line end", "inside a word", "first letter of a word", "heading", "mark")
Look = Callable[[Any, int], dict[str, Any]]


class HeldOut(NamedTuple):
    """Windows of the validation plays and the kind of each character."""

    ids: Tensor  # int64 (N, T)
    kinds: Tensor  # int64 (N, T), index into KINDS


def corpus(split: str) -> str:
    """Join the plays of a split."""
    return "\n".join(play.text for play in load_shakespeare(split))


def kinds_of(text: str) -> Tensor:
    """Return the kind of every character of plays, int64 (L,), an index into KINDS.

    A speech begins with a line such as "JULIET:" after an empty one; the letters, spaces and colon
    of such a heading are "heading".
    """
    kinds = torch.full((len(text),), KINDS.index("mark"))
    patterns = {"space or line end": r"[ \n]", "inside a word": r"[A-Za-z]",
                "first letter of a word": r"(?<![A-Za-z'])[A-Za-z]",
                "heading": r"(?:(?<=\n\n)|\A)[A-Z][A-Za-z' ]*:(?=\n)"}  # fmt: skip
    for name, pattern in patterns.items():  # a later one overrules
        for match in re.finditer(pattern, text):
            kinds[match.start() : match.end()] = KINDS.index(name)
    return kinds


def held_out(tokenizer: CharTokenizer, length: int, n: int) -> HeldOut:
    """Cut evenly spaced windows from the validation plays."""
    text = corpus("validation")
    ids, kinds = tokenizer.encode(text), kinds_of(text)
    starts = torch.linspace(0, len(ids) - length, n).long()
    return HeldOut(ids.unfold(0, length, 1)[starts], kinds.unfold(0, length, 1)[starts])


def judged(log_probs: Tensor, answers: Tensor, kinds: Tensor) -> dict[str, Any]:
    """Score predictions as a whole and by kind of character.

    `log_probs` are float (n, V), `answers` int64 (n,), `kinds` int64 (n,), index into KINDS.
    Returns mean bits, and for each kind the share of right first guesses with its 95 % interval.
    """
    right = log_probs.argmax(dim=-1) == answers
    shares = {
        name: list(wilson_interval(int(right[kinds == i].sum()), int((kinds == i).sum())))
        for i, name in enumerate(KINDS)
    }
    return {"bits": nats_to_bits(F.nll_loss(log_probs, answers).item()), "right": shares}


def top_guesses(log_probs: Tensor, tokenizer: CharTokenizer) -> list[list[Any]]:
    """Return the three best characters of each row with their probabilities."""
    top = log_probs.exp().topk(3)
    return [
        [[tokenizer.tokens[i], p] for i, p in zip(row.tolist(), probs.tolist(), strict=True)]
        for row, probs in zip(top.indices, top.values, strict=True)
    ]


def long_words(text: str) -> list[str]:
    """List the complete words of four letters or more; short ones come about by chance."""
    return re.findall(r"(?<![a-z'-])[a-z'-]{4,}(?=[^a-z'-])", text.lower())


def signs(texts: list[str], known: set[str], names: set[str]) -> dict[str, Any]:
    """Look for words and headings in texts that begin where a speech begins.

    Args:
        texts: Without the prompt.
        known: Long words of the training plays, in lower case.
        names: Headings of the training plays.

    Returns:
        Shares with 95 % intervals: long words that are known, texts whose first line has the form
        of a heading, and texts whose first line is a heading of the training plays.
    """
    words = [word for text in texts for word in long_words(text)]
    first = [match.group() if (match := HEADING.match(text)) else "" for text in texts]
    shares = {
        "known long words": (sum(word in known for word in words), len(words)),
        "heading form": (sum(map(bool, first)), len(first)),
        "known heading": (sum(line in names for line in first), len(first)),
    }
    return {k: list(wilson_interval(*v)) if v[1] else None for k, v in shares.items()}


def speech_starts(text: str) -> list[str]:
    """Cut TEXT_LEN characters at the start of every speech."""
    starts = [match.end() for match in re.finditer(r"\n\n", text)]
    return [text[start : start + TEXT_LEN] for start in starts if start + TEXT_LEN <= len(text)]


def sign_reader() -> Callable[[list[str]], dict[str, Any]]:
    """Return `signs` with the words and headings of the training plays."""
    text = corpus("train")
    headings = (HEADING.match(start) for start in speech_starts(text))
    names = {match.group() for match in headings if match}
    return partial(signs, known=set(long_words(text)), names=names)


def gpt_look(
    tokenizer: CharTokenizer, n: int, read_signs: Callable[[list[str]], dict[str, Any]]
) -> Look:
    """Return the function that looks at a GPT; n held-out windows of 65 characters."""
    probe = held_out(tokenizer, 65, n)
    prompt, line = tokenizer.encode(PROMPT)[None], tokenizer.encode(LINE)[None]

    def look(model: Any, step: int) -> dict[str, Any]:
        """Score the second half of each window, guess in the fixed line, and write."""
        with eval_mode(model), torch.inference_mode():
            log_probs = model(probe.ids[:, :-1])[:, 32:].log_softmax(dim=-1).flatten(0, 1)
            at_line = model(line)[0].log_softmax(dim=-1)
        drawn = generate(
            model, prompt.repeat(N_TEXTS, 1), TEXT_LEN, Sampling(Generator().manual_seed(5))
        )
        texts = [tokenizer.decode(row[len(PROMPT) :]) for row in drawn]
        bare = [re.sub(r"\[[A-Z]+\]", "", text) for text in texts]  # [MASK] is no word of it
        greedy = generate(model, prompt, TEXT_LEN, Sampling(greedy=True))[0, len(PROMPT) :]
        return {
            "step": step,
            **judged(log_probs, probe.ids[:, 33:].flatten(), probe.kinds[:, 33:].flatten()),
            "guesses": top_guesses(at_line[[place - 1 for place in PLACES]], tokenizer),
            "greedy": tokenizer.decode(greedy), "sampled": texts[:3],
            "signs": read_signs(bare),
        }  # fmt: skip

    return look


def bert_look(tokenizer: CharTokenizer, n: int) -> Look:
    """Return the function that looks at a BERT; n held-out windows with one blank each."""
    probe = held_out(tokenizer, 32, n)
    places = torch.full((n,), 16)
    rows, mask_id = tokenizer.encode(LINE).repeat(len(PLACES), 1), tokenizer.mask_id

    def look(model: Any, step: int) -> dict[str, Any]:
        """Fill the blank of each window and the fixed ones, one at a time."""
        log_probs = cloze_log_probs(model, probe.ids, places, mask_id=mask_id, batch_size=500)
        at_line = cloze_log_probs(model, rows, torch.tensor(PLACES), mask_id=mask_id)
        return {
            "step": step,
            **judged(log_probs, probe.ids[:, 16], probe.kinds[:, 16]),
            "guesses": top_guesses(at_line, tokenizer),
        }

    return look
