# SPDX-License-Identifier: MIT
"""One call from prompt to text, for each kind of model."""

import json
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing
from torch import nn

from pretrain.bert import BERT, BERTConfig
from pretrain.generation import Sampling, generate
from pretrain.gpt import GPT, GPTConfig
from pretrain.t5 import T5, T5Config
from pretrain_lab.completion import complete, encode_prompt, guesses
from pretrain_lab.tokenizers.characters import CharTokenizer
from pretrain_lab.tokenizers.learning import train_subwords
from pretrain_lab.tokenizers.subwords import SubwordTokenizer

TEXT = ["the old king met the young king by the old river and said nothing\n"] * 20
SIZES = {"d_model": 16, "n_layers": 1, "n_heads": 2}


@pytest.fixture(scope="module")
def subwords() -> SubwordTokenizer:
    """Learn a vocabulary of bytes with sentinels, in which words begin with their blanks."""
    return train_subwords(TEXT, "byte-bpe", 300, n_sentinels=5)


@pytest.fixture(scope="module")
def gpt(subwords: SubwordTokenizer) -> GPT:
    """Make a GPT with a short context."""
    torch.manual_seed(0)
    return GPT(GPTConfig(subwords.vocab_size, max_len=12, **SIZES)).eval()


@pytest.fixture(scope="module")
def bert(subwords: SubwordTokenizer) -> BERT:
    """Make a BERT with a short context."""
    torch.manual_seed(0)
    return BERT(BERTConfig(subwords.vocab_size, max_len=12, **SIZES)).eval()


def silent(text: str) -> None:
    """Hear nothing."""
    raise AssertionError(text)


def test_a_gpt_writes_on_as_generate_does(gpt: GPT, subwords: SubwordTokenizer) -> None:
    """The same seed writes the same; the prompt stands in front as it was typed."""
    prompt = "the old "
    texts = [
        complete(gpt, subwords, prompt, n_tokens=9, seed=seed, report=silent) for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]
    assert texts[0].startswith(prompt)
    ids = subwords.encode(prompt)
    written = generate(gpt, ids[None], 9, Sampling(greedy=True))[0]
    if not set(written.tolist()) & set(subwords.special_ids):
        assert complete(gpt, subwords, prompt, n_tokens=9, greedy=True) == subwords.decode(written)


def test_special_tokens_are_not_written(gpt: GPT, subwords: SubwordTokenizer) -> None:
    """However likely they are."""
    plain = complete(gpt, subwords, "the", n_tokens=200, temperature=5.0, seed=3)
    assert not any(subwords.tokens[i] in plain for i in subwords.special_ids)


def test_ids_without_token_are_not_written(subwords: SubwordTokenizer) -> None:
    """A published model may have more ids than its tokeniser, and the likeliest among them."""
    size = subwords.vocab_size + 200
    torch.manual_seed(0)
    models = [GPT(GPTConfig(size, max_len=12, **SIZES)), T5(T5Config(size, **SIZES))]
    for model in models:
        for options in ({"greedy": True}, {"temperature": 9.0}):
            assert complete(model, subwords, "the old", n_tokens=20, **options)
    bert = BERT(BERTConfig(size, max_len=12, **SIZES))
    with torch.no_grad():
        bert.head.output_bias[subwords.vocab_size :] = 9.0
    assert complete(bert, subwords, "the [MASK] met").startswith("the")
    assert len(guesses(bert, subwords, "the [MASK] met", 999)[0]) == 300 - len(subwords.special_ids)


def test_long_prompts_are_cut_from_the_left(gpt: GPT, subwords: SubwordTokenizer) -> None:
    """And it is said; the text still begins with all of the prompt."""
    said: list[str] = []
    prompt = "the old king met the young king by the old river and said nothing" * 2
    text = complete(gpt, subwords, prompt, n_tokens=3, report=said.append)
    n = len(subwords.encode(prompt))
    assert said == [f"the prompt has {n} tokens; the model reads the last 12"]
    assert text.startswith(prompt)
    assert torch.equal(
        encode_prompt(gpt, subwords, prompt, report=said.append), subwords.encode(prompt)[-12:]
    )


def test_special_tokens_of_a_prompt_are_taken_as_such(
    bert: BERT, subwords: SubwordTokenizer
) -> None:
    """A gap takes the blank before it, for the tokens of words hold theirs."""
    ids = encode_prompt(bert, subwords, "the [MASK] met")
    expected = [*subwords.encode("the").tolist(), subwords.mask_id]
    assert ids.tolist() == expected + subwords.encode(" met").tolist()
    characters = CharTokenizer("abc ")
    model = BERT(BERTConfig(6, max_len=8, **SIZES))
    assert encode_prompt(model, characters, "a [MASK]").tolist() == [2, 5, characters.mask_id]


def test_a_published_bert_is_asked_in_its_form() -> None:
    """Where the tokeniser's template puts [CLS] and [SEP] around a text, they count as read."""
    plain = train_subwords(TEXT, "wordpiece", 130)
    backend = Tokenizer.from_str(json.dumps(plain.to_dict()))
    ends = [(name, backend.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    backend.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    framed = SubwordTokenizer(backend)
    model = BERT(BERTConfig(plain.vocab_size, max_len=12, **SIZES))
    prompt = "the [MASK] met"
    bare = encode_prompt(model, plain, prompt).tolist()
    asked = [plain.cls_id, *bare, plain.sep_id]
    assert encode_prompt(model, framed, prompt).tolist() == asked
    assert encode_prompt(model, framed, f"[CLS] {prompt} [SEP]").tolist() == asked
    with torch.no_grad():
        logits = model.eval()(torch.tensor([asked]))[0, asked.index(plain.mask_id)]
    logits[[*plain.special_ids]] = -torch.inf
    best = plain.tokens[int(logits.argmax())]
    assert guesses(model, framed, prompt)[0][0][0] == best
    assert complete(model, framed, prompt) == f"the {best.removeprefix('##')} met"
    said: list[str] = []
    ids = encode_prompt(model, framed, "old " * 20 + "[MASK]", report=said.append)
    assert ids.tolist()[::11] == [plain.cls_id, plain.sep_id]
    assert ids.tolist()[10] == plain.mask_id
    assert said[0].endswith("the model reads the last 10")


def test_a_bert_fills_every_mask(bert: BERT, subwords: SubwordTokenizer) -> None:
    """The best of the guesses stands in the text where there is one mask."""
    prompt = "the [MASK] met"
    (best,) = guesses(bert, subwords, prompt, 5)
    assert len(best) == 5
    assert [p for _, p in best] == sorted((p for _, p in best), reverse=True)
    with torch.no_grad():
        probs = bert(encode_prompt(bert, subwords, prompt)[None])[0, -2].softmax(dim=-1)
    assert best[0][1] == pytest.approx(float(probs[subwords.tokens.index(best[0][0])]))
    filled = complete(bert, subwords, prompt)
    assert filled == f"the{best[0][0]} met"
    assert len(guesses(bert, subwords, prompt, 999)[0]) == 300 - len(subwords.special_ids)
    two = complete(bert, subwords, "[MASK] king [MASK].")
    assert "[MASK]" not in two
    assert " king" in two
    long = "the king [MASK] " + "old " * 15 + "[MASK]"
    said: list[str] = []
    cut = complete(bert, subwords, long, report=said.append)
    assert cut.count("[MASK]") == 1  # the one that the model did not read stays
    assert cut.startswith("the king [MASK]")
    assert len(said) == 1


def test_a_t5_fills_spans_or_answers(subwords: SubwordTokenizer) -> None:
    """What is written behind a sentinel stands in its place."""
    torch.manual_seed(0)
    model = T5(T5Config(subwords.vocab_size, **SIZES))
    sentinels, eos_id = subwords.sentinel_ids, subwords.eos_id
    spans = [" queen", " rode"]
    script = [sentinels[0], *subwords.encode(spans[0]).tolist(), sentinels[1]]
    script += [*subwords.encode(spans[1]).tolist(), sentinels[2], eos_id]

    def decode(ids: Any, *_: Any, cache: Any = None) -> torch.Tensor:
        """Say what the script says, whatever was read."""
        said.append(script[len(said)])
        return torch.nn.functional.one_hot(
            torch.tensor([[said[-1]]]), subwords.vocab_size
        ).float().log()  # fmt: skip

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "decode", decode)
        said: list[int] = []
        text = complete(model, subwords, "the <extra_id_0> met <extra_id_1>.", greedy=True)
        assert text == "the queen met rode."
        said.clear()
        script[:] = [*subwords.encode(" nothing").tolist(), eos_id]
        assert complete(model, subwords, "the king said", greedy=True) == "nothing"


def test_unknown_characters_are_named(gpt: GPT) -> None:
    """Refused by a vocabulary of characters, told by one that has [UNK]."""
    characters = CharTokenizer("abc ")
    model = GPT(GPTConfig(6, max_len=8, **SIZES))
    with pytest.raises(ValueError, match=r"trained on, got 'é', '/'; it knows 'abc '"):
        complete(model, characters, "a/é"[::-1])
    words = train_subwords(TEXT, "bpe", 130)
    said: list[str] = []
    complete(GPT(GPTConfig(130, max_len=8, **SIZES)), words, "a月", n_tokens=1, report=said.append)
    assert said == ["the vocabulary lacks '月': the model reads [UNK] there"]
    many = "".join(map(chr, range(0x4E00, 0x4E0F)))
    with pytest.raises(ValueError, match=r"'一', .* and 5 more; it knows"):
        complete(model, characters, many)


@pytest.mark.parametrize(
    ("prompt", "settings", "message"),
    [
        ("", {}, "expected a prompt of at least one character, got an empty one"),
        ("the", {"n_tokens": 0}, "expected n_tokens >= 1, got 0"),
        ("the", {"temperature": 0.0}, "finite temperature > 0, got 0.0; for the limit at 0 pass"),
        ("the", {"top_k": 0}, "expected top_k >= 1, got 0"),
        ("the", {"top_p": 1.5}, r"expected top_p in \(0, 1\], got 1.5"),
    ],
)
def test_what_cannot_be_written_is_refused(
    gpt: GPT, subwords: SubwordTokenizer, prompt: str, settings: dict[str, Any], message: str
) -> None:
    """With what was expected."""
    with pytest.raises(ValueError, match=message):
        complete(gpt, subwords, prompt, **settings)


def test_a_bert_needs_a_mask_that_it_reads(bert: BERT, subwords: SubwordTokenizer) -> None:
    """One at all, and one that is not cut off; and a classifier is no model for this."""
    with pytest.raises(ValueError, match=r"expected a \[MASK\] in the prompt, for a BERT fills"):
        complete(bert, subwords, "the king")
    with pytest.raises(ValueError, match=r"expected a \[MASK\] among the last 12 tokens"):
        complete(bert, subwords, "[MASK]" + " old" * 20, report=lambda _: None)
    with pytest.raises(TypeError, match="expected a GPT, BERT or T5, got a Linear"):
        complete(nn.Linear(2, 2), subwords, "the")
