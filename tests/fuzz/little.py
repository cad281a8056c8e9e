# SPDX-License-Identifier: MIT
"""Models and a tokeniser of the smallest size, made once: what they compute is not the point.

There are two of each, so that a test can see whether a function treats them alike.
"""

import torch
from strategies import V
from torch import nn

from pretrain.bert import BERT
from pretrain.gpt import GPT
from pretrain.subword_training import train_subwords
from pretrain.t5 import T5

TOKENIZER = train_subwords(["to be or not to be, that is the question " * 3], "byte-bpe", 290,
                           n_sentinels=4)  # fmt: skip
"""It can write any text."""
MAX_LEN = 16
SIZES = {"d_model": 4, "n_layers": 1, "n_heads": 2}


def drawn(model: nn.Module) -> nn.Module:
    """Draw every parameter, so that logits differ clearly; evaluation mode, no gradients."""
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.requires_grad_(False).normal_(std=0.7, generator=generator)
    return model.eval()


GPTS = [drawn(GPT(V, max_len=MAX_LEN, norm=norm, **SIZES)) for norm in ("pre", "post")]
BERTS = [drawn(BERT(V, max_len=MAX_LEN, n_segments=n, **SIZES)) for n in (0, 2)]
TEXT_T5 = drawn(T5(TOKENIZER.vocab_size, **SIZES))
T5S = [drawn(T5(V, gated=gated, tie_head=not gated, **SIZES)) for gated in (False, True)]
