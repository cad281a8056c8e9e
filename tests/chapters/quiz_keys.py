# SPDX-License-Identifier: MIT
"""Keys of the quizzes: each computes words that only the right option of its question contains.

One function a question, ``quiz_gpt_passes`` for the label ``quiz-gpt-passes``. A key finds a
number, a shape or a name with the package, in a record of ``data/runs/`` or by a derivation; a
question whose answer is a sentence has none.
"""

import inspect
import json
import math
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Generator, Tensor, nn
from torch.nn import functional as F
from transformers import BertConfig, BertModel

from book_pages.directives.quiz_text import Quiz
from pretrain.attention import MultiHeadAttention, attention
from pretrain.bert import BERT, BERTConfig
from pretrain.generation import Sampling
from pretrain.gpt import GPT, GPTConfig
from pretrain.masks import causal_mask
from pretrain.objectives import causal_targets, corrupt_mlm, shift_right
from pretrain.span_corruption import (
    SpanCorrupted,
    SpanCorruption,
    corrupt_given_spans,
    corrupt_spans,
)
from pretrain.t5 import T5, T5Config
from pretrain_lab.checkpoints import quantize_rows
from pretrain_lab.corpora.loading import load_shakespeare
from pretrain_lab.interpretability.linear_probes import control_labels, fit_probe
from pretrain_lab.oracles.hmm import HiddenMarkovSource
from pretrain_lab.oracles.optimal_losses import optimal_causal_log_probs, optimal_cloze_log_probs
from pretrain_lab.paths import data_file
from pretrain_lab.prompting.answer_scoring import calibrate
from pretrain_lab.scaling.flops import gpt_flops
from pretrain_lab.statistics.intervals import wilson_interval
from pretrain_lab.tasks.subjectivity import load_plot_or_review
from pretrain_lab.tokenizers.learning import train_subwords
from pretrain_lab.tokenizers.subwords import load_tokenizer

SIZES = {"d_model": 16, "n_layers": 2, "n_heads": 2, "max_len": 16, "init_std": 0.2}
HOLES = SpanCorruption(first_sentinel_id=199, n_sentinels=64)


def keys() -> dict[str, Callable[[], str]]:
    """Collect the keys by the labels of their questions."""
    found = inspect.getmembers(sys.modules[__name__], inspect.isfunction)
    return {name.replace("_", "-"): key for name, key in found if name.startswith("quiz_")}


def complaints(quiz: Quiz, words: str) -> list[str]:
    """Compare a question with what its key has computed.

    Args:
        quiz: The question.
        words: What the key returns.

    Returns:
        One line for each complaint; empty = the marked option, and no other, holds the words.
    """
    if not words.strip():
        return [f"{quiz.label}: the key returned no words"]
    holding = [n for n, option in enumerate(quiz.options) if holds(option.text, words)]
    if len(holding) != 1:
        return [f"{quiz.label}: {len(holding)} options contain {words!r}, expected one"]
    if holding[0] != quiz.right:
        marked = quiz.options[quiz.right].text
        return [f"{quiz.label}: the key computes {words!r}, but this is marked: {marked!r}"]
    return []


def holds(text: str, words: str) -> bool:
    """Tell whether whole words stand in a text, in either case: 3 does not stand in 13 or 3.5."""
    inside = re.escape(" ".join(words.casefold().split()))
    pattern = rf"(?<!\w)(?<!\d[.,]){inside}(?!\w|[.,]\d)"
    return re.search(pattern, " ".join(text.casefold().split())) is not None


def _record(name: str) -> dict[str, Any]:
    """Read a record of data/runs."""
    found: dict[str, Any] = json.loads(data_file("runs", f"{name}.json").read_text())
    return found


def quiz_rev_causal() -> str:
    """Count the targets that the causal objective makes of 12 tokens."""
    _, targets = causal_targets(torch.arange(12))
    return f"{len(targets)} tokens"


def quiz_rev_sum() -> str:
    """Add the surprises of three probabilities, in bits."""
    total = sum(-math.log2(prob) for prob in (1 / 2, 1 / 8, 1 / 8))
    return f"{total:g} bits."


def quiz_rev_tasks() -> str:
    """Divide the price of a pre-training by what the labels of one task save."""
    price, n_labels, dollars, k = 2000, 500, Fraction(1, 5), 5
    saved = (k - 1) * n_labels * dollars
    tasks = Fraction(price) / saved
    return f"After {tasks} tasks" if saved > 0 else "Never."


def quiz_rev_passes() -> str:
    """Divide the tokens drawn from a corpus by its size, in billions."""
    drawn = Fraction(20, 100) * 300
    return f"{drawn / 10} times."


def quiz_trf_turn() -> str:
    """Turn the query of "it" by a right angle, and attend."""
    keys = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    _, weights = attention(torch.tensor([[0.0, 2.0]]), keys, keys)
    word = ("the", "cat", "saw", "it")[int(weights.argmax())]
    return f"*{word}*, with {weights.max().item():.2f}"


def quiz_trf_moves() -> str:
    """Change the second of four tokens, and count the positions whose logits move."""
    torch.manual_seed(0)
    model = GPT(GPTConfig(11, **SIZES)).eval()
    with torch.no_grad():
        change = model(torch.tensor([[3, 5, 7, 9]])) - model(torch.tensor([[3, 6, 7, 9]]))
    return f"{int((change.abs().amax(dim=-1) > 1e-4).sum())}: its own"


def quiz_trf_zero_score() -> str:
    """Attend to four keys with the score 0, the last of them "hidden" in that way."""
    query, key = torch.zeros(1, 2), torch.zeros(4, 2)
    _, weights = attention(query, key, torch.eye(4))
    return f"Weight {weights[0, -1].item():g}"


def quiz_trf_window() -> str:
    """Follow four permitted steps from the last token of forty."""
    mask = causal_mask(40) & ~causal_mask(40).tril(-3)  # itself and two before
    reach = torch.linalg.matrix_power(mask.double(), 4)[-1] > 0
    return f"{39 - int(reach.nonzero()[0])} tokens"


def quiz_trf_heads() -> str:
    """Count the parameters of attention with twelve heads."""
    layer = MultiHeadAttention(96, 12)
    return f"{sum(p.numel() for p in layer.parameters()):,}"


def quiz_trf_context() -> str:
    """Count the operations of GPT-2, smallest size, on both contexts."""
    with torch.device("meta"):
        model = GPT(GPTConfig(50_257, d_model=768, n_layers=12, n_heads=12, max_len=2048))
    return f"By about {gpt_flops(model, 2048) / gpt_flops(model, 1024):.1f}"


def quiz_tok_seam() -> str:
    """Train byte-pair encoding on the ledger, and cut the word."""
    ledger = {"tea": 6, "team": 3, "steam": 4, "seat": 2, "quay": 1}
    pages = [word for word, count in ledger.items() for _ in range(count)]
    toy = train_subwords(pages, "bpe", vocab_size=8 + 4, alphabet="", specials=())
    return " · ".join(toy.split("seams"))


def quiz_tok_bits() -> str:
    """Compare the bits per character, and name the model with fewer."""
    bits = {"A": 12 * 2 / 12, "B": 3 * 7 / 12}
    best = min(bits, key=lambda name: bits[name])
    return f"{best}'s, at {bits[best]:.2f} bits"


def quiz_tok_emoji() -> str:
    """Train the three kinds on plays, which lack the sign, and see which gives it back."""
    kinds = {"BERT's": "wordpiece", "T5's": "unigram", "GPT-2's": "byte-bpe"}
    plays = [play.text[:20_000] for play in load_shakespeare("validation")]
    able = []
    for name, kind in kinds.items():
        tokenizer = train_subwords(plays, kind, vocab_size=300, specials=("[UNK]",))
        if tokenizer.decode(tokenizer.encode("😀")) == "😀":
            able.append(f"{name} kind")
    return ", ".join(able)


def quiz_tok_padding() -> str:
    """Count the positions of a row of nine whose logits two unmasked paddings move."""
    torch.manual_seed(0)
    model = BERT(BERTConfig(50, d_model=32, n_layers=2, n_heads=4, max_len=16, init_std=0.2)).eval()
    ids = torch.arange(1, 10)[None]
    with torch.no_grad():
        padded = model(torch.cat([ids, torch.zeros(1, 2, dtype=torch.long)], dim=1))[:, :9]
        moved = (model(ids) - padded).abs().amax(dim=-1) > 1e-3
    return f"At {int(moved.sum())}"


def quiz_tok_typed() -> str:
    """Encode the typed name, and count ordinary tokens if no special one is among them."""
    book = load_tokenizer("plays_bpe")
    ids = book.encode("[MASK]")
    special = torch.isin(ids, torch.tensor(book.special_ids)).any()
    n_ordinary = 0 if special else math.prod(ids.shape)
    return f"{n_ordinary} ordinary tokens"


def quiz_gpt_passes() -> str:
    """Count the targets of a window of 64 characters."""
    _, targets = causal_targets(torch.arange(64)[None])
    return f"{targets.numel()}"


def quiz_gpt_orders() -> str:
    """Multiply the conditionals of a random distribution in each of the six orders."""
    joint = np.random.default_rng(0).dirichlet(np.ones(8)).reshape(2, 2, 2)
    exact = 0
    for order in permutations(range(3)):
        product = np.ones_like(joint)
        for n in range(3):
            known = joint.sum(axis=order[n:], keepdims=True)
            product = product * joint.sum(axis=order[n + 1 :], keepdims=True) / known
        exact += bool(np.allclose(product, joint))
    return f"In all {exact}" if exact == 6 else f"In {exact}"


def quiz_gpt_shift() -> str:
    """Count the positions that a causal mask lets read the token of their own place."""
    return f"At {int(causal_mask(8).diagonal().sum())}"


def quiz_gpt_differs() -> str:
    """Change the last of six tokens, and count the positions whose logits move."""
    torch.manual_seed(0)
    ids = torch.tensor([[1, 2, 3, 4, 5, 6]])
    other = torch.tensor([[1, 2, 3, 4, 5, 7]])

    def n_moved(model: nn.Module) -> int:
        with torch.no_grad():
            gap = model.eval()(ids) - model(other)
        return int((gap.abs().amax(dim=-1) > 1e-4).sum())

    gpt, bert = GPT(GPTConfig(11, **SIZES)), BERT(BERTConfig(11, **SIZES))
    return f"GPT: {n_moved(gpt)}, BERT: {n_moved(bert)}"


def quiz_gpt_units() -> str:
    """Convert both perplexities to bits per character, and name the lower one."""
    bits = {"A": math.log2(64) / 3, "B": math.log2(5)}
    best = min(bits, key=lambda name: bits[name])
    return f"{best}: it needs {bits[best]:g} bits per character"


def quiz_gpt_temperature() -> str:
    """Apply temperature 2 to the two probabilities."""
    probs = Sampling(temperature=2.0).distribution(torch.tensor([0.9, 0.1]).log())
    return f"{probs[0].item():.2f}"


def quiz_brt_sides() -> str:
    """Count the tokens of a clean text that move the logits at the first position."""
    torch.manual_seed(0)
    model = BERT(BERTConfig(11, d_model=16, n_layers=1, n_heads=2, max_len=16, init_std=0.2)).eval()
    ids = torch.arange(1, 7)
    n_read = 0
    with torch.no_grad():
        first = model(ids[None])[0, 0]
        for place in range(6):
            other = ids.clone()
            other[place] = 9
            n_read += int((model(other[None])[0, 0] - first).abs().max() > 1e-4)
    return f"the first of 6 tokens reads {'all ' if n_read == 6 else ''}{n_read}"


def quiz_brt_kept() -> str:
    """Multiply the defaults of the corruption: selected, and neither masked nor random."""
    defaults = inspect.signature(corrupt_mlm).parameters
    select, mask, random = (
        defaults[name].default
        for name in ("mlm_probability", "mask_replace_prob", "random_replace_prob")
    )
    return f"{1000 * select * (1 - mask - random):.0f}"


def quiz_brt_product() -> str:
    """Multiply the marginals of the two letters."""
    joint = {("i", "s"): 0.5, ("t", "o"): 0.5}
    first = sum(p for (letter, _), p in joint.items() if letter == "i")
    second = sum(p for (_, letter), p in joint.items() if letter == "o")
    return f"{first * second:g}"


def _cut_hundred() -> SpanCorrupted:
    """Corrupt 100 tokens with the defaults, a final sentinel and an end."""
    ids = torch.arange(10, 110)
    return corrupt_spans(ids, replace(HOLES, eos_id=5), generator=Generator().manual_seed(0))


def _small_t5() -> T5:
    """Make a T5 with random weights."""
    torch.manual_seed(0)
    return T5(T5Config(200, d_model=16, n_layers=2, n_heads=2)).eval()


def _n_special(ids: Tensor) -> int:
    """Count sentinels and ends."""
    return int(((ids > 199 - 64) | (ids == 5)).sum())


def quiz_t5_lengths() -> str:
    """Count the tokens of input and target."""
    cut = _cut_hundred()
    return f"{cut.inputs.numel()} and {cut.targets.numel()}"


def quiz_t5_shift() -> str:
    """Change the label at place 2 of six, and list the rows of logits that move."""
    cut = corrupt_given_spans(torch.arange(10, 20), [(2, 4), (8, 9)], HOLES)
    labels, model = cut.targets[None], _small_t5()
    other = labels.clone()
    other[0, 2] = 42
    with torch.no_grad():
        one, two = (model(cut.inputs[None], shift_right(row))[0] for row in (labels, other))
    rows = ((one - two).abs().amax(dim=-1) > 1e-6).nonzero().flatten().tolist()
    return f"Rows {', '.join(map(str, rows[:-1]))} and {rows[-1]}"


def quiz_t5_mean() -> str:
    """Spread the whole sum of 22 tokens over those that are text."""
    targets = _cut_hundred().targets
    n_text = targets.numel() - _n_special(targets)
    return f"{3.5 * targets.numel() / n_text:.1f} nats"


def quiz_wld_floors() -> str:
    """Compare how far two losses lie above the best possible ones, over all days of the town."""
    mostly = torch.tensor([[0.9, 0.1], [0.1, 0.9]])
    town = HiddenMarkovSource(mostly, mostly, torch.tensor([0.5, 0.5]))
    days = torch.cartesian_prod(*[torch.arange(2)] * 3)  # (8, 3)
    from_left = optimal_causal_log_probs(town, days)  # (8, 3)
    from_both = optimal_cloze_log_probs(town, days, torch.full((8,), 1)).gather(1, days[:, 1:2])
    often = from_left.sum(dim=1).exp()
    floors = {
        "The first": -(often * from_left[:, 1]).sum() / math.log(2),
        "The second": -(often * from_both[:, 0]).sum() / math.log(2),
    }
    losses = {"The first": 0.82, "The second": 0.76}
    above = {name: losses[name] - float(floor) for name, floor in floors.items()}
    assert min(above.values()) > 0
    return f"{min(above, key=above.__getitem__)}, "


def _entropy(p: float) -> float:
    """Give the entropy in bits of a coin."""
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def quiz_adv_worth() -> str:
    """Apply the definition: a straight line over the logarithm of the number of labels."""
    needed = math.exp(np.interp(0.65, [0.60, 0.70], np.log([100, 10_000])))
    return f"{needed / 100:.0f} times"


def quiz_adv_digits() -> str:
    """Sum the surprises of ten characters and round up once."""
    return f"{math.ceil(10 * -math.log2(0.9))} digits"


def quiz_ftn_start() -> str:
    """Compare the losses of a head of zeros on right and on shuffled labels of three classes."""
    labels = torch.arange(3).repeat(20)
    shuffled = labels[torch.randperm(60, generator=Generator().manual_seed(0))]
    assert not torch.equal(labels, shuffled)
    scores = torch.zeros(60, 3)
    right, wrong = (F.cross_entropy(scores, given) for given in (labels, shuffled))
    if math.isclose(right, wrong):
        return f"= {float(wrong):.2f}"
    return "Above" if wrong > right else "Below"


def quiz_ftn_floor() -> str:
    """Compute the least loss that each cause allows; find the one at 0.313 nats."""
    perfect, right = torch.tensor([[-50.0, 50.0]]), torch.tensor([1])
    floors = {
        "softmax": F.cross_entropy(perfect.softmax(dim=-1), right),
        "three outputs": F.cross_entropy(torch.tensor([[-50.0, 50.0, -50.0]]), right),
        "tenth of the labels": F.binary_cross_entropy(torch.tensor(0.9), torch.tensor(0.9)),
        "learning rate": F.cross_entropy(perfect, right),
    }
    near = [cause for cause, floor in floors.items() if abs(float(floor) - 0.313) < 0.002]
    assert len(near) == 1
    return near[0]


def quiz_ftn_twelve() -> str:
    """Draw the validation scores of twelve equal settings; see how far the best lies above."""
    scores = 2.0 * torch.randn(20_000, 12, generator=Generator().manual_seed(0))
    return f"About {scores.amax(dim=1).mean():.0f} points"


def quiz_lab_output() -> str:
    """Run a BERT of one layer and width 384 on two texts of nine tokens."""
    config = BertConfig(
        vocab_size=20, hidden_size=384, num_hidden_layers=1, num_attention_heads=12,
        intermediate_size=384,
    )  # fmt: skip
    model = BertModel(config, add_pooling_layer=False).eval()
    with torch.inference_mode():
        found = model(torch.ones(2, 9, dtype=torch.long))[0]
    return str(tuple(found.shape))


def quiz_lab_cosine() -> str:
    """See in which of two spaces 0.7 lies above the mean cosine of two sentences."""
    space = _record("feature_lab")["space"]
    alike = [name for name in ("minilm", "smollm2") if space[name]["mean_cosine"] < 0.7]
    return {
        ("minilm", "smollm2"): "In both",
        ("minilm",): "In MiniLM's",
        ("smollm2",): "In SmolLM2's",
        (): "In neither",
    }[tuple(alike)]


def quiz_lab_memory() -> str:
    """Fit a control task on vectors that hold nothing but which of 30 words it is."""
    words = torch.arange(30).repeat(4)
    types = [[str(word) for word in words.tolist()]]
    control = control_labels(types, 2, generator=Generator().manual_seed(0))[0]
    states = torch.eye(30)[words]
    probe = fit_probe((states, control), (states, control))
    share = float(probe.hits(states, control).double().mean())
    names = {0.5: "About 50 %", 0.75: "About 75 %", 1.0: "About 100 %"}
    return names[min(names, key=lambda value: abs(value - share))]


def quiz_lab_rival() -> str:
    """Find the rival of the name probe that its interval does not leave behind."""
    run = _record("feature_lab")["probes"]["minilm"]["name"]
    at = run["layers"].index(run["chosen"])
    rivals = {
        "Chance": 1 / run["n_classes"],
        "control task": run["control"][at][2],
        "layer 0": run["accuracy"][0][2],
    }
    close = [name for name, top in rivals.items() if top >= run["accuracy"][at][1]]
    assert len(close) == 1
    return close[0]


def quiz_icl_write() -> str:
    """Choose among two answers, and write greedily, from one table of probabilities."""
    after_prompt = {" not": 0.4, " good": 0.3, " bad": 0.1}
    after = {" not": {" bad": 0.9}, " good": {}, " bad": {}}
    chosen = max((" good", " bad"), key=after_prompt.__getitem__)
    written, last = "", max(after_prompt, key=after_prompt.__getitem__)
    while last:
        written += last
        explanation = after.get(last, {}) if written == last else {}
        last = max(explanation, key=explanation.__getitem__) if explanation else ""
    return f"*{chosen.strip()}* is chosen, *{written.strip()}* is written"


def quiz_icl_calibration() -> str:
    """Calibrate random scores of two answers; see which measures move."""
    draw = Generator().manual_seed(0)
    truth = torch.randint(2, (200,), generator=draw)
    lean = torch.randn(200, generator=draw) + truth
    scores = torch.stack([torch.zeros(200), lean], dim=1).log_softmax(dim=-1)
    fixed = calibrate(scores, torch.tensor([[0.2, 0.8]]).log())
    measures = {
        "AUC": lambda p: roc_auc_score(truth, p[:, 1]),
        "accuracy": lambda p: float((p.argmax(dim=1) == truth).double().mean()),
        "share of reviews": lambda p: float((p.argmax(dim=1) == 1).double().mean()),
        "probability": lambda p: float(p[0, 1]),
    }
    kept = [k for k, f in measures.items() if math.isclose(f(scores.exp()), f(fixed), abs_tol=1e-3)]
    assert len(kept) == 1
    return kept[0]


def quiz_cho_passes() -> str:
    """Count the tokens that pass through a decoder's blocks, by reading 10 and writing 31."""
    lengths = [10, *[1] * (31 - 1)]  # the text, then each written token but the last
    return f"{sum(lengths) / lengths[0]:.0f} times"


def quiz_cho_cache() -> str:
    """Divide the weights of MiniLM's shape by the numbers that a text's cache holds."""
    model = BERT(BERTConfig(30_522, max_len=256, d_model=384, n_layers=6, n_heads=12))
    weights = sum(p.numel() for p in model.parameters())
    texts = weights / (2 * 6 * 384 * 80)
    return f"About {round(texts, -1):.0f}"


def quiz_cho_lengths() -> str:
    """Apply every rule by length to pairs of a plot and a review of equal length."""
    pairs = load_plot_or_review("test", "sentences", generator=Generator().manual_seed(0))
    lengths = np.array([len(item.text.split()) for item in pairs])
    plots = np.array([item.label == 1 for item in pairs])
    shares = {float(np.mean((lengths > limit) == plots)) for limit in range(0, 60, 3)}
    return f"{100 * shares.pop():.0f} %" if len(shares) == 1 else "It depends"


def quiz_cho_judge() -> str:
    """Compute the 95 % interval of 26 right answers of 32."""
    _, low, high = wilson_interval(26, 32)
    return f"Between {100 * low:.0f} and {100 * high:.0f} %"


"""Kaplan et al. 2020 (arXiv:2001.08361), equation (1.1)."""


def quiz_scl_double() -> str:
    """Raise 2 to the exponent of Kaplan et al. 2020, equation (1.1); say how far the loss falls."""
    fall = round(100 * (1 - 2**-0.076))
    return f"lowers the loss by about {fall} %"


def quiz_scl_hundred() -> str:
    """Divide a hundred times the compute by equal powers; the product is the budget."""
    size = round(math.sqrt(100))
    words = {1: "No", 10: "Ten", 100: "A hundred"}
    return f"{words[size]} times the parameters and {words[100 // size]} times the text"


def quiz_scl_ruler() -> str:
    """Multiply ten chances of 90 %."""
    whole = math.prod([0.9] * 10)
    return f"In {100 * whole:.0f} % of the cases"


def quiz_eff_adam() -> str:
    """Count the bytes of a matrix, its gradient and what Adam keeps for it after one step."""
    layer = nn.Linear(10, 10, bias=False)
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(1, 10)).sum().backward()
    optimizer.step()
    means = [value for value in optimizer.state[layer.weight].values() if value.numel() > 1]
    kept = [layer.weight, layer.weight.grad, *means]
    size = sum(t.numel() * t.element_size() for t in kept if t is not None)
    return f"{size // layer.weight.numel()} bytes"


def quiz_eff_rounding() -> str:
    """Round many rows whose largest weight is 1.27, and look for the largest error."""
    row = torch.cat([torch.linspace(-1.27, 1.27, 20_001), torch.tensor([1.27])])[None]
    whole, scales = quantize_rows(row)
    return f"{float((whole * scales[:, None] - row).abs().max()):.3f}"


def quiz_eff_grid() -> str:
    """Compute energy and carbon of one training on both grids."""
    energy = [1000 * 0.4 * 24 for _ in ("France", "India")]
    carbon = [e * grid for e, grid in zip(energy, (56, 713), strict=True)]
    assert energy[0] == energy[1]
    return f"The carbon, by a factor of about {carbon[1] / carbon[0]:.0f}; not the energy"


def quiz_eff_shuffle() -> str:
    """Regroup six words in all ways, and count gaps as large as the largest."""
    leans = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2]
    gaps = [
        abs(sum(leans[i] for i in first) - sum(leans[i] for i in range(6) if i not in first))
        for first in combinations(range(6), 3)
    ]
    return f"{sum(gap >= max(gaps) - 1e-9 for gap in gaps) / len(gaps):g}"


def quiz_own_dpo() -> str:
    """Take the two log-ratios of the pair, and their difference times beta."""
    chosen, rejected = -30 - -28, -40 - -25
    return f"{0.1 * (chosen - rejected):.1f}, although both answers got less probable"
