# SPDX-License-Identifier: MIT
"""The tables: BERT, GPT-2, GPT-NeoX and T5 in this book's names and in Hugging Face's.

Papers: Devlin et al. 2019 (arXiv:1810.04805); Radford et al. 2019 (GPT-2); Black et al. 2022
(arXiv:2204.06745) for GPT-NeoX, which is GPT-2 with rotary positions when its layers are not
parallel; Raffel et al. 2020 (arXiv:1910.10683). Left out: families that our classes cannot
represent (RoBERTa counts positions from 2, Llama has another norm and a gate).
"""

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.t5 import T5, T5Config
from pretrain_lab.hub.conversion import ArchitectureMap

_ACTIVATIONS = {
    "gelu": {"activation": "gelu"},
    "gelu_new": {"activation": "gelu_tanh"},
    "relu": {"activation": "relu"},
    "gelu_python": {"activation": "gelu"},
    "gelu_pytorch_tanh": {"activation": "gelu_tanh"},
    "gelu_python_tanh": {"activation": "gelu_tanh"},
    "gelu_accurate": {"activation": "gelu_tanh"},
    "gelu_fast": {"activation": "gelu_tanh"},
}
_FIXED = {
    "add_cross_attention": False,
    "pruned_heads": {},
    "quantization_config": None,
    "auto_map": None,
}
_NO_IDS = {"pad_token_id": None, "bos_token_id": None, "eos_token_id": None}

_LAYER = "encoder.layer.{i}."
BERT_FAMILY = ArchitectureMap(
    model_type="bert",
    model=BERT,
    config=BERTConfig,
    architectures=("BertForMaskedLM", "BertForPreTraining", "BertModel"),
    headless="BertModel",
    options={
        "vocab_size": ("vocab_size", 30_522),
        "d_model": ("hidden_size", 768),
        "n_layers": ("num_hidden_layers", 12),
        "n_heads": ("num_attention_heads", 12),
        "d_ff": ("intermediate_size", 3_072),
        "max_len": ("max_position_embeddings", 512),
        "n_segments": ("type_vocab_size", 2),
        "norm_eps": ("layer_norm_eps", 1e-12),
        "init_std": ("initializer_range", 0.02),
        "tie_head": ("tie_word_embeddings", True),
    },
    activation=("hidden_act", "gelu"),
    activations=_ACTIVATIONS,
    dropouts=("hidden_dropout_prob", "attention_probs_dropout_prob"),
    attention_dropout="attention_probs_dropout_prob",
    implied={"norm": "post", "positions": "learned"},
    fixed={"position_embedding_type": "absolute", "is_decoder": False, **_FIXED},
    same={},
    written=_NO_IDS,
    parameters={
        "embeddings.token.weight": "embeddings.word_embeddings.weight",
        "embeddings.position.weight": "embeddings.position_embeddings.weight",
        "embedding_norm.{p}": "embeddings.LayerNorm.{p}",
        "blocks.{i}.attention.qkv.{p}": (
            _LAYER + "attention.self.query.{p}",
            _LAYER + "attention.self.key.{p}",
            _LAYER + "attention.self.value.{p}",
        ),
        "blocks.{i}.attention.output.{p}": _LAYER + "attention.output.dense.{p}",
        "blocks.{i}.attention_norm.{p}": _LAYER + "attention.output.LayerNorm.{p}",
        "blocks.{i}.feed_forward.up.{p}": _LAYER + "intermediate.dense.{p}",
        "blocks.{i}.feed_forward.down.{p}": _LAYER + "output.dense.{p}",
        "blocks.{i}.feed_forward_norm.{p}": _LAYER + "output.LayerNorm.{p}",
        "head.dense.{p}": "cls.predictions.transform.dense.{p}",
        "head.norm.{p}": "cls.predictions.transform.LayerNorm.{p}",
        "head.output_bias": "cls.predictions.decoder.bias",
    },
    optional={
        ("n_segments", True): {
            "embeddings.segment.weight": "embeddings.token_type_embeddings.weight"
        },
        ("tie_head", False): {"head.output_weight": "cls.predictions.decoder.weight"},
    },
    head_prefix="cls.",
    prefix="bert.",
    aliases={
        "cls.predictions.bias": "cls.predictions.decoder.bias",
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    },
    written_aliases=("cls.predictions.bias",),
    renamed={"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
    constants=r"bert\.embeddings\.(position_ids|token_type_ids)",
    # With untied matrices `transformers` 5 keeps two output biases and never uses the second.
    left_out=r"bert\.pooler\.dense\.\w+|cls\.seq_relationship\.\w+|cls\.predictions\.bias",
    inputs={
        "ids": "input_ids",
        "attention_mask": "attention_mask",
        "segment_ids": "token_type_ids",
    },
    rungs={
        "attention layers": {"blocks.{i}.attention": _LAYER + "attention.output.dense"},
        "blocks": {"blocks.{i}": "encoder.layer.{i}"},
    },
)

GPT2_FAMILY = ArchitectureMap(
    model_type="gpt2",
    model=GPT,
    config=GPTConfig,
    architectures=("GPT2LMHeadModel", "GPT2Model"),
    headless=None,
    options={
        "vocab_size": ("vocab_size", 50_257),
        "d_model": ("n_embd", 768),
        "n_layers": ("n_layer", 12),
        "n_heads": ("n_head", 12),
        "d_ff": ("n_inner", None),
        "max_len": ("n_positions", 1_024),
        "norm_eps": ("layer_norm_epsilon", 1e-5),
        "init_std": ("initializer_range", 0.02),
        "tie_head": ("tie_word_embeddings", True),
    },
    activation=("activation_function", "gelu_new"),
    activations=_ACTIVATIONS,
    dropouts=("resid_pdrop", "embd_pdrop", "attn_pdrop"),
    attention_dropout="attn_pdrop",
    implied={"norm": "pre", "positions": "learned"},
    fixed={
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "reorder_and_upcast_attn": False,
        **_FIXED,
    },
    same={},
    written=_NO_IDS,
    parameters={
        "embeddings.token.weight": "wte.weight",
        "embeddings.position.weight": "wpe.weight",
        "blocks.{i}.attention_norm.{p}": "h.{i}.ln_1.{p}",
        "blocks.{i}.attention.qkv.{p}": "h.{i}.attn.c_attn.{p}",
        "blocks.{i}.attention.output.{p}": "h.{i}.attn.c_proj.{p}",
        "blocks.{i}.feed_forward_norm.{p}": "h.{i}.ln_2.{p}",
        "blocks.{i}.feed_forward.up.{p}": "h.{i}.mlp.c_fc.{p}",
        "blocks.{i}.feed_forward.down.{p}": "h.{i}.mlp.c_proj.{p}",
        "final_norm.{p}": "ln_f.{p}",
    },
    optional={("tie_head", False): {"head.weight": "lm_head.weight"}},
    head_prefix="lm_head.",
    prefix="transformer.",
    transposed=(".c_attn.weight", ".c_proj.weight", ".c_fc.weight"),
    aliases={"lm_head.weight": "transformer.wte.weight"},
    constants=r"transformer\.h\.\d+\.attn\.(bias|masked_bias)",
    inputs={"ids": "input_ids", "attention_mask": "attention_mask"},
    rungs={
        "attention layers": {"blocks.{i}.attention": "h.{i}.attn.c_proj"},
        "blocks": {"blocks.{i}": "h.{i}"},
    },
)

_ROTARY = {"rope_theta": 10_000.0, "partial_rotary_factor": 1.0, "rope_type": "default"}
GPT_NEOX_FAMILY = ArchitectureMap(
    model_type="gpt_neox",
    model=GPT,
    config=GPTConfig,
    architectures=("GPTNeoXForCausalLM", "GPTNeoXModel"),
    headless=None,
    options={
        "vocab_size": ("vocab_size", 50_432),
        "d_model": ("hidden_size", 6_144),
        "n_layers": ("num_hidden_layers", 44),
        "n_heads": ("num_attention_heads", 64),
        "d_ff": ("intermediate_size", 24_576),
        "max_len": ("max_position_embeddings", 2_048),
        "norm_eps": ("layer_norm_eps", 1e-5),
        "init_std": ("initializer_range", 0.02),
        "tie_head": ("tie_word_embeddings", False),
    },
    activation=("hidden_act", "gelu"),
    activations=_ACTIVATIONS,
    dropouts=("hidden_dropout", "attention_dropout"),
    attention_dropout="attention_dropout",
    implied={"norm": "pre", "positions": "rotary"},
    fixed={
        "use_parallel_residual": False,
        "rope_parameters": _ROTARY,
        "attention_bias": True,
        "is_decoder": False,
        **_FIXED,
    },
    same={},
    written={
        **_NO_IDS,
        "use_parallel_residual": False,
        "rope_parameters": _ROTARY,
        "rotary_pct": 1.0,  # the same for `transformers` 4
    },
    parameters={
        "embeddings.token.weight": "embed_in.weight",
        "blocks.{i}.attention_norm.{p}": "layers.{i}.input_layernorm.{p}",
        "blocks.{i}.attention.qkv.{p}": "layers.{i}.attention.query_key_value.{p}",
        "blocks.{i}.attention.output.{p}": "layers.{i}.attention.dense.{p}",
        "blocks.{i}.feed_forward_norm.{p}": "layers.{i}.post_attention_layernorm.{p}",
        "blocks.{i}.feed_forward.up.{p}": "layers.{i}.mlp.dense_h_to_4h.{p}",
        "blocks.{i}.feed_forward.down.{p}": "layers.{i}.mlp.dense_4h_to_h.{p}",
        "final_norm.{p}": "final_layer_norm.{p}",
    },
    optional={("tie_head", False): {"head.weight": "lm_head.weight"}},
    head_prefix="lm_head.",
    prefix="gpt_neox.",
    by_head=(".query_key_value.weight", ".query_key_value.bias"),
    assumed={
        "use_parallel_residual": True,
        "rope_parameters": {**_ROTARY, "partial_rotary_factor": 0.25},
    },
    dropout=0.0,
    aliases={"lm_head.weight": "gpt_neox.embed_in.weight"},
    renamed={"embed_out.weight": "lm_head.weight"},  # in files; in their class it is `lm_head` too
    constants=r"gpt_neox\.layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)",
    inputs={"ids": "input_ids", "attention_mask": "attention_mask"},
    rungs={
        "attention layers": {"blocks.{i}.attention": "layers.{i}.attention.dense"},
        "blocks": {"blocks.{i}": "layers.{i}"},
    },
)

_OURS_E, _OURS_D = "encoder.blocks.{i}.", "decoder.blocks.{i}."
_THEIRS_E, _THEIRS_D = "encoder.block.{i}.layer.", "decoder.block.{i}.layer."
_BIAS = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
T5_FAMILY = ArchitectureMap(
    model_type="t5",
    model=T5,
    config=T5Config,
    architectures=("T5ForConditionalGeneration", "T5WithLMHeadModel"),
    headless=None,
    options={
        "vocab_size": ("vocab_size", 32_128),
        "d_model": ("d_model", 512),
        "n_layers": ("num_layers", 6),
        "n_heads": ("num_heads", 8),
        "d_head": ("d_kv", 64),
        "d_ff": ("d_ff", 2_048),
        "n_buckets": ("relative_attention_num_buckets", 32),
        "max_distance": ("relative_attention_max_distance", 128),
        "norm_eps": ("layer_norm_epsilon", 1e-6),
        "tie_head": ("tie_word_embeddings", True),
    },
    activation=("feed_forward_proj", "relu"),
    activations={
        "relu": {"activation": "relu", "gated": False},
        "gated-gelu": {"activation": "gelu_tanh", "gated": True},  # its approximate form, so named
        "gelu": {"activation": "gelu", "gated": False},
        "gelu_new": {"activation": "gelu_tanh", "gated": False},
        "gated-relu": {"activation": "relu", "gated": True},
        "gated-gelu_new": {"activation": "gelu_tanh", "gated": True},
        "gated-gelu_python": {"activation": "gelu", "gated": True},
    },
    dropouts=("dropout_rate",),
    attention_dropout=None,
    implied={},
    fixed={"is_encoder_decoder": True, "is_decoder": False, **_FIXED},
    same={"num_decoder_layers": "n_layers"},
    written={
        "pad_token_id": 0,
        "decoder_start_token_id": 0,
        "eos_token_id": None,
        "is_encoder_decoder": True,
    },
    parameters={
        "token.weight": "shared.weight",
        "encoder.relative_bias.weight": "encoder." + _BIAS,
        _OURS_E + "attention_norm.weight": _THEIRS_E + "0.layer_norm.weight",
        _OURS_E + "attention.query.weight": _THEIRS_E + "0.SelfAttention.q.weight",
        _OURS_E + "attention.key.weight": _THEIRS_E + "0.SelfAttention.k.weight",
        _OURS_E + "attention.value.weight": _THEIRS_E + "0.SelfAttention.v.weight",
        _OURS_E + "attention.output.weight": _THEIRS_E + "0.SelfAttention.o.weight",
        _OURS_E + "feed_forward_norm.weight": _THEIRS_E + "1.layer_norm.weight",
        _OURS_E + "feed_forward.down.weight": _THEIRS_E + "1.DenseReluDense.wo.weight",
        "encoder.final_norm.weight": "encoder.final_layer_norm.weight",
        "decoder.relative_bias.weight": "decoder." + _BIAS,
        _OURS_D + "attention_norm.weight": _THEIRS_D + "0.layer_norm.weight",
        _OURS_D + "attention.query.weight": _THEIRS_D + "0.SelfAttention.q.weight",
        _OURS_D + "attention.key.weight": _THEIRS_D + "0.SelfAttention.k.weight",
        _OURS_D + "attention.value.weight": _THEIRS_D + "0.SelfAttention.v.weight",
        _OURS_D + "attention.output.weight": _THEIRS_D + "0.SelfAttention.o.weight",
        _OURS_D + "cross_norm.weight": _THEIRS_D + "1.layer_norm.weight",
        _OURS_D + "cross_attention.query.weight": _THEIRS_D + "1.EncDecAttention.q.weight",
        _OURS_D + "cross_attention.key.weight": _THEIRS_D + "1.EncDecAttention.k.weight",
        _OURS_D + "cross_attention.value.weight": _THEIRS_D + "1.EncDecAttention.v.weight",
        _OURS_D + "cross_attention.output.weight": _THEIRS_D + "1.EncDecAttention.o.weight",
        _OURS_D + "feed_forward_norm.weight": _THEIRS_D + "2.layer_norm.weight",
        _OURS_D + "feed_forward.down.weight": _THEIRS_D + "2.DenseReluDense.wo.weight",
        "decoder.final_norm.weight": "decoder.final_layer_norm.weight",
    },
    optional={
        ("gated", False): {
            _OURS_E + "feed_forward.up.weight": _THEIRS_E + "1.DenseReluDense.wi.weight",
            _OURS_D + "feed_forward.up.weight": _THEIRS_D + "2.DenseReluDense.wi.weight",
        },
        ("gated", True): {
            _OURS_E + "feed_forward.gate.weight": _THEIRS_E + "1.DenseReluDense.wi_0.weight",
            _OURS_E + "feed_forward.up.weight": _THEIRS_E + "1.DenseReluDense.wi_1.weight",
            _OURS_D + "feed_forward.gate.weight": _THEIRS_D + "2.DenseReluDense.wi_0.weight",
            _OURS_D + "feed_forward.up.weight": _THEIRS_D + "2.DenseReluDense.wi_1.weight",
        },
        ("tie_head", False): {"head.weight": "lm_head.weight"},
    },
    head_prefix="lm_head.",
    aliases={
        "encoder.embed_tokens.weight": "shared.weight",
        "decoder.embed_tokens.weight": "shared.weight",
        "lm_head.weight": "shared.weight",
    },
    # Written by the first releases, used by none.
    left_out=r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",
    inputs={
        "ids": "input_ids",
        "decoder_ids": "decoder_input_ids",
        "attention_mask": "attention_mask",
    },
    rungs={
        "attention layers": {
            _OURS_E + "attention": _THEIRS_E + "0.SelfAttention",
            _OURS_D + "attention": _THEIRS_D + "0.SelfAttention",
            _OURS_D + "cross_attention": _THEIRS_D + "1.EncDecAttention",
        },
        "blocks": {
            "encoder.blocks.{i}": "encoder.block.{i}",
            "decoder.blocks.{i}": "decoder.block.{i}",
        },
    },
)

FAMILIES = (BERT_FAMILY, GPT2_FAMILY, T5_FAMILY, GPT_NEOX_FAMILY)
"""Of two families of one class, the first that has all its options is a model's."""
