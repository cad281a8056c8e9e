# SPDX-License-Identifier: MIT
"""From a prompt to a text in one call: GPT writes on, BERT fills gaps, T5 answers or fills spans.

Special tokens that a prompt names, such as [MASK] or <extra_id_0>, are taken as such.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from pretrain.bert import BERT
from pretrain.evaluation import eval_mode
from pretrain.generation import Sampling, generate, generate_seq2seq, mask_predict
from pretrain.gpt import GPT
from pretrain.t5 import T5
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.tokenizers.subwords import ROLES

SENTINEL = re.compile(r"<extra_id_(\d+)>")


@dataclass(frozen=True)
class _Allowed(Sampling):
    """Sampling that never chooses some ids."""

    banned: tuple[int, ...] = ()

    def __call__(self, logits: Tensor) -> Tensor:
        """Choose a token for each row: logits (B, V) to ids, int64 (B,)."""
        banned = torch.tensor(self.banned, dtype=torch.int64)
        return super().__call__(logits.index_fill(-1, banned, torch.finfo(logits.dtype).min))


def complete(
    model: Any,
    tokenizer: Any,
    prompt: str,
    *,
    n_tokens: int = 200,
    temperature: float = 0.8,
    top_k: int | None = None,
    top_p: float | None = None,
    greedy: bool = False,
    seed: int = 0,
    report: Callable[[str], None] = print,
) -> str:
    """Turn a prompt into a text.

    A GPT writes on: the prompt and what follows. A BERT fills every [MASK], each time with its most
    likely token. A T5 fills every <extra_id_n>, or answers a prompt without any.

    Args:
        model: A GPT, BERT or T5.
        tokenizer: Its vocabulary.
        n_tokens: How many tokens a GPT or T5 writes at most.
        temperature: Divides the logits; `top_k` and `top_p` cut, as in `Sampling`.
        greedy: Whether the most likely token is taken, without drawing.
        seed: Decides what is drawn.
        report: Told what of the prompt was cut off or is unknown.

    Raises:
        TypeError: Another model, such as a classifier.
        ValueError: An empty prompt, one that the model has no use for, or characters that the
            vocabulary lacks.
    """
    if not isinstance(model, GPT | BERT | T5):
        raise TypeError(f"expected a GPT, BERT or T5, got a {type(model).__name__}")
    if n_tokens < 1:
        raise ValueError(f"expected n_tokens >= 1, got {n_tokens}")
    ids = encode_prompt(model, tokenizer, prompt, report=report)
    if isinstance(model, BERT):
        return _filled(model, tokenizer, prompt, ids)
    generator = Generator().manual_seed(seed)
    banned = _not_written(model, tokenizer)
    choose = _Allowed(generator, False, temperature, top_k, top_p, banned=banned)
    if greedy:
        choose = _Allowed(greedy=True, banned=banned)
    if isinstance(model, T5):
        return _answer(model, tokenizer, prompt, ids, n_tokens, choose)
    eos_id = _eos_id(tokenizer)
    stop_ids = None if eos_id is None else [eos_id]
    written = generate(model, ids[None], n_tokens, choose, stop_ids=stop_ids)[0, len(ids) :]
    if eos_id is not None and written[-1] == eos_id:
        written = written[:-1]
    return prompt + tokenizer.decode(written)


def guesses(
    model: BERT, tokenizer: Any, prompt: str, n: int = 5, *, report: Callable[[str], None] = print
) -> list[list[tuple[str, float]]]:
    """List, for each [MASK] of a prompt, the n most likely tokens with their probabilities.

    Special tokens, which no text holds, are left out.

    Raises:
        ValueError: As for `complete`.
    """
    ids = encode_prompt(model, tokenizer, prompt, report=report)
    with eval_mode(model), torch.no_grad():
        logits = model(ids[None])[0, ids == tokenizer.mask_id]
    special = torch.tensor(_specials(model, tokenizer), dtype=torch.int64)
    probs = logits.softmax(dim=-1).index_fill(-1, special, 0.0)
    best = probs.topk(min(n, probs.shape[-1] - len(special)))
    return [
        [(tokenizer.tokens[i], p) for i, p in zip(row, values, strict=True)]
        for row, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def encode_prompt(
    model: Any, tokenizer: Any, prompt: str, *, report: Callable[[str], None] = print
) -> Tensor:
    """Turn a prompt into ids, int64 (T,), special tokens included, of which a model reads the end.

    A published BERT reads it between [CLS] and [SEP], if its tokeniser has a template of these.

    Raises:
        ValueError: As for `complete`.
    """
    if not prompt:
        raise ValueError("expected a prompt of at least one character, got an empty one")
    names = {tokenizer.tokens[i]: i for i in tokenizer.special_ids}
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    parts = re.split(f"{_before(tokenizer)}({pattern})", prompt) if names else [prompt]
    _check_characters(tokenizer, [part for part in parts if part not in names], report)
    pieces = [
        torch.tensor([names[part]]) if part in names else tokenizer.encode(part)
        for part in parts
        if part
    ]
    ids = torch.cat(pieces)
    if isinstance(model, BERT) and tokenizer.mask_id not in ids:
        raise ValueError("expected a [MASK] in the prompt, for a BERT fills gaps, got none")
    ends = _ends(tokenizer, ids) if isinstance(model, BERT) else []
    limit = getattr(model.config, "max_len", len(ids)) - len(ends)  # a T5 has none
    if len(ids) > limit:
        report(f"the prompt has {len(ids)} tokens; the model reads the last {limit}")
        ids = ids[-limit:]
        if isinstance(model, BERT) and tokenizer.mask_id not in ids:
            raise ValueError(f"expected a [MASK] among the last {limit} tokens of the prompt")
    return torch.tensor([*ends[:1], *ids.tolist(), *ends[1:]])


def _ends(tokenizer: Any, ids: Tensor) -> list[int]:
    """Give [CLS] and [SEP] if a tokeniser puts them around a text, and the prompt has not done so.

    The book's tokenisers put nothing there.
    """
    ids_around: list[int] = getattr(tokenizer, "template_ids", [])
    names = [tokenizer.tokens[i] for i in ids_around]
    return ids_around if names == ["[CLS]", "[SEP]"] and int(ids[0]) != ids_around[0] else []


def _check_characters(tokenizer: Any, texts: list[str], report: Callable[[str], None]) -> None:
    """Name the characters that a vocabulary lacks; one of characters alone refuses them."""
    characters = dict.fromkeys("".join(texts))
    if isinstance(tokenizer, CharTokenizer):
        lacking = [c for c in characters if c not in tokenizer.ids]
        if lacking:
            raise ValueError(
                f"expected characters that the model was trained on, got {_named(lacking)}; it "
                f"knows {''.join(tokenizer.characters)!r}"
            )
        return
    try:
        unk_id = tokenizer.unk_id
    except ValueError:
        return
    lacking = [c for c in characters if not c.isspace() and unk_id in tokenizer.encode(c)]
    if lacking:
        report(f"the vocabulary lacks {_named(lacking)}: the model reads [UNK] there")


def _named(characters: list[str]) -> str:
    """List characters, at most ten."""
    more = f" and {len(characters) - 10} more" if len(characters) > 10 else ""
    return ", ".join(map(repr, characters[:10])) + more


def _filled(model: BERT, tokenizer: Any, prompt: str, ids: Tensor) -> str:
    """Fill the masks of ids, (T,), over as many rounds as there are, and put them into the text."""
    masked = ids == tokenizer.mask_id
    chosen = mask_predict(
        model, ids[None], int(masked.sum()), Sampling(greedy=True), mask_id=tokenizer.mask_id,
        special_ids=_specials(model, tokenizer),
    )[0, masked]  # fmt: skip
    tokens = [tokenizer.tokens[i].removeprefix("##") for i in chosen.tolist()]
    gaps = list(re.finditer(_before(tokenizer) + re.escape("[MASK]"), prompt))
    text, end = "", 0
    for gap, token in zip(gaps[-len(tokens) :], tokens, strict=True):  # the others were cut off
        text += prompt[end : gap.start()] + token
        end = gap.end()
    return text + prompt[end:]


def _before(tokenizer: Any) -> str:
    """Give the pattern of what a gap takes with it: a blank, where tokens begin with theirs."""
    return " ?" if any(len(t) > 1 and t.startswith(" ") for t in tokenizer.tokens) else ""


def _answer(
    model: T5, tokenizer: Any, prompt: str, ids: Tensor, n_tokens: int, choose: Sampling
) -> str:
    """Read the prompt, and put what is written for each of its sentinels in its place."""
    eos_id = _eos_id(tokenizer)
    read = ids if eos_id is None else torch.cat([ids, torch.tensor([eos_id])])
    written = generate_seq2seq(
        model, read[None], n_tokens, choose, eos_id=eos_id, pad_id=tokenizer.pad_id
    )[0].tolist()
    if eos_id in written:
        written = written[: written.index(eos_id)]
    text = tokenizer.decode(torch.tensor(written, dtype=torch.int64))
    if not SENTINEL.search(prompt):
        return text.strip()
    parts = SENTINEL.split(text)[1:]  # number, span, number, span, …
    spans = dict(zip(parts[::2], parts[1::2], strict=True))
    gap = re.compile(_before(tokenizer) + SENTINEL.pattern)
    return gap.sub(lambda found: spans.get(found[1], found[0]), prompt)


def _not_written(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """List the ids that never stand in a text; a T5's sentinels and the end do."""
    wanted = {_eos_id(tokenizer)}
    if isinstance(model, T5):
        wanted |= {i for i in tokenizer.special_ids if SENTINEL.fullmatch(tokenizer.tokens[i])}
    return tuple(i for i in _specials(model, tokenizer) if i not in wanted)


def _specials(model: Any, tokenizer: Any) -> list[int]:
    """List the special tokens that a model has an output for, and its ids without a token."""
    n_outputs = model.config.vocab_size
    special = [i for i in tokenizer.special_ids if i < n_outputs]
    return [*special, *range(tokenizer.vocab_size, n_outputs)]


def _eos_id(tokenizer: Any) -> int | None:
    """Give the id that ends a text; None when there is none."""
    return next((i for i in tokenizer.special_ids if tokenizer.tokens[i] in ROLES["eos"]), None)
