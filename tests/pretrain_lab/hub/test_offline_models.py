# SPDX-License-Identifier: MIT
"""Models by hub id: what stands in offline, and the named ones from a made-up cache of the hub."""

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tiny_hub import BASE, GPT2, LARGE, T5_SMALL, lay_out, run

from pretrain_lab.checkpoints import load_model
from pretrain_lab.finetuning.text_to_text import predict
from pretrain_lab.hub.cache import ONLINE_VARIABLE, StandInError
from pretrain_lab.hub.offline_models import STAND_INS, TASKS, load_hub_model
from pretrain_lab.paths import CHECKPOINTS

needs_book_bert = pytest.mark.skipif(
    not (CHECKPOINTS / "book_bert.safetensors").exists(), reason="book_bert is not trained yet"
)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the tester's own, and no connection."""
    monkeypatch.delenv(ONLINE_VARIABLE, raising=False)

    def refuse(*arguments: object) -> None:
        """Fail where a connection is tried."""
        raise AssertionError(f"connects to {arguments}")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay out a cache of the hub that holds tiny random models under the real ids."""
    home = tmp_path_factory.mktemp("huggingface")
    lay_out(home)
    return home


NAMED = """
import json, socket
def refuse(*arguments): raise AssertionError(f"connects to {arguments}")
socket.socket.connect = refuse
import torch
from pretrain_lab.hub.offline_models import load_hub_model
found = {}
def note(hub_id, task, inputs, **options):
    got = load_hub_model(hub_id, task, **options)
    batch = got.tokenizer(inputs, padding=True, return_tensors="pt")
    shape = list(got.model(**batch, **({"decoder_input_ids": batch["input_ids"]}
                           if task == "seq2seq" else {}))[0].shape)
    found[f"{hub_id} {task}"] = [got.is_named, type(got.model).__name__, shape,
                                 batch["input_ids"].tolist(), got.model.training]
texts = ["to be or", "not"]
note("google-bert/bert-base-uncased", "classification", texts, num_labels=3)
note("google-bert/bert-base-uncased", "masked", ["to [MASK]", "be"])
note("google-bert/bert-large-uncased", "features", texts)
note("openai-community/gpt2", "causal", texts)
note("openai-community/gpt2", "classification", texts)
note("google-t5/t5-small", "seq2seq", texts)
print(json.dumps(found))
"""


def test_the_named_models_come_from_the_cache(hub: Path) -> None:
    """The same calls as offline give the named models, and ask nobody for them."""
    finished = run(NAMED, hub)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == ""
    *told, last = finished.stdout.splitlines()
    assert told == [BASE, BASE, LARGE, GPT2, GPT2, T5_SMALL]
    padded = [[1, 5, 6, 7, 2], [1, 8, 2, 0, 0]]
    assert json.loads(last) == {
        f"{BASE} classification": [True, "BertForSequenceClassification", [2, 3], padded, False],
        f"{BASE} masked": [True, "BertForMaskedLM", [2, 4, 9], [[1, 5, 3, 2], [1, 6, 2, 0]], False],
        f"{LARGE} features": [True, "BertModel", [2, 5, 12], padded, False],
        f"{GPT2} causal": [True, "GPT2LMHeadModel", [2, 3, 9], [[5, 6, 7], [8, 4, 4]], False],
        f"{GPT2} classification": [
            True, "GPT2ForSequenceClassification", [2, 2], [[5, 6, 7], [8, 4, 4]], False,
        ],
        f"{T5_SMALL} seq2seq": [
            True, "T5ForConditionalGeneration", [2, 3, 9], [[5, 6, 7], [8, 0, 0]], False,
        ],
    }  # fmt: skip


ABSENT = """
import pretrain_lab.hub.cache as h
from pretrain_lab.hub.offline_models import load_hub_model
h._TIMEOUT = 1.0
try:
    load_hub_model("google-bert/bert-base-uncased")
except h.StandInError as error:
    print(error)
"""


@pytest.mark.parametrize("case", ["offline", "refused", "silent"])
def test_nothing_cached_is_said_in_one_sentence(case: str, tmp_path: Path) -> None:
    """Offline by the hub's own variable, a refused connection, a host that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:  # accepts, and then says nothing
        port = server.getsockname()[1] if case == "silent" else 9
        variables = {"HF_HUB_OFFLINE": "1"} if case == "offline" else {}
        finished = run(ABSENT, tmp_path, HTTPS_PROXY=f"http://127.0.0.1:{port}", **variables)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == ""
    (said,) = finished.stdout.splitlines()
    assert said.startswith(f"{BASE} is not in the hub's cache and could not be fetched (")
    assert said.endswith(
        f"run `hf download {BASE}` once with a connection, or unset PRETRAIN_ONLINE to use the"
        " packaged stand-in"
    )
    assert ("HF_HUB_OFFLINE is set" in said) == (case == "offline")


def test_what_stands_in_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """One line, which names both models; the same weights under their own id are no stand-in."""
    for hub_id, own in ((BASE, False), ("sentence-transformers/all-MiniLM-L6-v2", True)):
        got = load_hub_model(hub_id)
        assert capsys.readouterr() == (got.about + "\n", "")
        assert got.is_named is own
        assert got.about == (hub_id if own else f"{STAND_INS['minilm']} stands in for {hub_id}")
        assert got.model.config.num_hidden_layers == 6
    load_hub_model(BASE, report=None)
    assert capsys.readouterr() == ("", "")


def test_the_head_is_new_and_the_seed_draws_it() -> None:
    """Three classes as asked; the same seed gives the same logits; dropout is off."""
    logits = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        got = load_hub_model(BASE, "classification", report=None, num_labels=3)
        batch = got.tokenizer(["A dull film.", "Fine"], padding=True, return_tensors="pt")
        assert batch["input_ids"][:, 0].tolist() == [101, 101]  # [CLS]
        with torch.no_grad():
            logits.append(got.model(**batch).logits)
    assert logits[0].shape == (2, 3)
    assert torch.equal(logits[0], logits[1])
    assert not torch.equal(logits[0], logits[2])


@needs_book_bert
def test_blanks_are_filled_by_the_books_own_bert() -> None:
    """The published form gives our model's logits, for the same ids, padding masked."""
    got = load_hub_model(BASE, "masked", report=None)
    ours, tokenizer = load_model("book_bert")
    batch = got.tokenizer(["To be, or not to be.", "Who is [MASK]?"], padding=True,
                          return_tensors="pt")  # fmt: skip
    ids = batch["input_ids"]
    assert ids[0].tolist() == [
        tokenizer.cls_id, *tokenizer.encode("To be, or not to be.").tolist(), tokenizer.sep_id,
    ]  # fmt: skip
    assert (ids[1] == tokenizer.mask_id).sum() == 1
    assert got.tokenizer.model_max_length == ours.config.max_len
    with torch.no_grad():
        theirs = got.model(**batch).logits
        expected = ours(ids, batch["attention_mask"].bool(), segment_ids=batch["token_type_ids"])
    torch.testing.assert_close(theirs, expected, rtol=0, atol=1e-4)


def test_texts_are_answered_by_the_books_own_t5() -> None:
    """The published form writes what our model answers."""
    got = load_hub_model(T5_SMALL, "seq2seq", report=None)
    ours, tokenizer = load_model("t5_tasks")
    sources = ["reverse: h e a d", "reverse: p l a y e r s", "sentiment: A film full of life."]
    batch = got.tokenizer(sources, padding=True, return_tensors="pt")
    with torch.no_grad():
        written = got.model.generate(**batch, max_new_tokens=12, do_sample=False)
    theirs = [t.strip() for t in got.tokenizer.batch_decode(written, skip_special_tokens=True)]
    assert theirs == predict(ours, tokenizer, sources, max_source_len=112, max_new_tokens=12)
    assert theirs[0] == "d a e h"


@pytest.mark.slow
def test_a_decoder_stands_in_for_gpt2() -> None:
    """Next tokens, and classes read at the last real token."""
    got = load_hub_model(GPT2, "classification", report=None, num_labels=2)
    assert got.model.config.num_hidden_layers == 30
    alone = got.tokenizer(["A dull film."], return_tensors="pt")
    padded = got.tokenizer(["A dull film.", "A film that never ends."], padding=True,
                           return_tensors="pt")  # fmt: skip
    with torch.no_grad():
        first, both = got.model(**alone).logits[0], got.model(**padded).logits
    torch.testing.assert_close(both[0], first, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: load_hub_model(BASE, "guessing"), "expected a task from"),
        (lambda: load_hub_model(BASE, fallback="elmo"), "and 'elmo'"),
        (lambda: load_hub_model(BASE, "masked", fallback="minilm"), "minilm can do, got 'masked'"),
        (lambda: load_hub_model(T5_SMALL, "causal"), "t5_tasks can do, got 'causal'"),
    ],
)
def test_bad_requests_are_refused(call: Callable[[], object], message: str) -> None:
    """Tasks and stand-ins that do not exist, or do not fit each other."""
    assert "masked" in TASKS
    with pytest.raises(ValueError, match=message):
        call()


def test_nothing_stands_in_for_any_model() -> None:
    """An id that the table does not know is no guess."""
    with pytest.raises(StandInError, match="set PRETRAIN_ONLINE=1 to load the model itself"):
        load_hub_model("mistralai/Mistral-7B-v0.3", "causal")
