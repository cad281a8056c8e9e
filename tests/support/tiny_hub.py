# SPDX-License-Identifier: MIT
"""A cache of the hub that holds tiny random models and texts under real ids, for tests."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.processors import TemplateProcessing

BASE, LARGE = "google-bert/bert-base-uncased", "google-bert/bert-large-uncased"
GPT2, T5_SMALL = "openai-community/gpt2", "google-t5/t5-small"
WORDS = ["<pad>", "[CLS]", "[SEP]", "[MASK]", "</s>", "to", "be", "or", "not"]
TEXTS = {
    "stanfordnlp/imdb": ("plain_text", "text", ("train", "test")),
    "nyu-mll/glue": ("sst2", "sentence", ("train", "validation")),
}
"""Data sets: folder, column, splits."""


def tiny_tokenizer(kind: str) -> Any:
    """Make a tokeniser of nine words in the form of `transformers`."""
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, "<pad>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    if kind == "bert":
        backend.post_processor = TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
        )  # fmt: skip
        names = {"pad": "<pad>", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    else:  # GPT-2 has no token for padding
        names = {"eos": "</s>", **({"pad": "<pad>"} if kind == "t5" else {})}
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, **{f"{k}_token": v for k, v in names.items()}
    )


def tiny_models() -> dict[str, tuple[str, Any]]:
    """Build a random model for each id; the sizes tell them apart."""
    import transformers as t

    bert = {"vocab_size": 9, "num_attention_heads": 1, "intermediate_size": 8}
    base = t.BertConfig(hidden_size=8, num_hidden_layers=1, **bert)
    large = t.BertConfig(hidden_size=12, num_hidden_layers=2, **bert)
    gpt = t.GPT2Config(vocab_size=9, n_embd=8, n_layer=1, n_head=1, bos_token_id=4, eos_token_id=4)
    t5 = t.T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2,
                    decoder_start_token_id=0, eos_token_id=4)  # fmt: skip
    return {
        BASE: ("bert", t.BertForMaskedLM(base)),
        LARGE: ("bert", t.BertForMaskedLM(large)),
        GPT2: ("gpt", t.GPT2LMHeadModel(gpt)),
        T5_SMALL: ("t5", t.T5ForConditionalGeneration(t5)),
    }


def lay_out(home: Path) -> None:
    """Lay out the cache below a folder, as the hub's client does."""
    for hub_id, (kind, model) in tiny_models().items():
        snapshot = new_snapshot(home, "models", hub_id)
        model.save_pretrained(snapshot)
        tiny_tokenizer(kind).save_pretrained(snapshot)
    for hub_id, (folder, column, splits) in TEXTS.items():
        snapshot = new_snapshot(home, "datasets", hub_id)
        (snapshot / folder).mkdir()
        for split in splits:
            labels = [i % 2 for i in range(200)]
            texts = [f"to be {'not or'[4 * y :]} be" * (1 + i % 3) for i, y in enumerate(labels)]
            table = pyarrow.table({column: texts, "label": labels})
            pyarrow.parquet.write_table(
                table, snapshot / folder / f"{split}-00000-of-00001.parquet"
            )


def new_snapshot(home: Path, kind: str, hub_id: str) -> Path:
    """Make the folder of an id's only version."""
    folder = home / "hub" / f"{kind}--{hub_id.replace('/', '--')}"
    snapshot = folder / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("a" * 40)
    return snapshot


def run(code: str, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code with the named models asked for; the hub's client reads its settings on import."""
    kept = {k: v for k, v in os.environ.items() if not k.lower().endswith("proxy")}
    return subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code], capture_output=True, text=True,
        env={**kept, "HF_HOME": str(home), "PRETRAIN_ONLINE": "1", "OMP_NUM_THREADS": "1",
             "HF_HUB_OFFLINE": "", **variables},
        check=False, timeout=100,
    )  # fmt: skip
