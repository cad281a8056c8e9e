# SPDX-License-Identifier: MIT
"""The mixture of four tasks: nothing is cut off, and each task gets its share of the steps."""

from experiments.ch06_t5 import prefixes
from pretrain_lab.finetuning.text_to_text import encode_text
from pretrain_lab.tokenizers.subwords import load_tokenizer


def test_no_text_is_cut() -> None:
    """Each training source and target is shorter than the most that is read, end included."""
    tokenizer = load_tokenizer(prefixes.VOCABULARY)
    examples = prefixes.read_examples(prefixes.Plan(), "train")
    assert set(examples) == set(prefixes.BATCH_SIZES) == set(prefixes.PROPORTIONS) - {"fill"}
    for rows in examples.values():
        for example in rows[::7]:
            source = encode_text(example.source, tokenizer, 1000)
            target = encode_text(" " + example.target, tokenizer, 1000)
            assert len(source) <= prefixes.MAX_SOURCE_LEN
            assert len(target) <= prefixes.MAX_TARGET_LEN
