# SPDX-License-Identifier: MIT
"""What somebody meant who wrote an option that `pretrain_lab.train` does not know."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

_SAME = {
    "training.lr": ("lr", "learning_rate", "max_lr"),
    "training.n_steps": ("steps", "max_steps", "num_steps", "max_iters", "epochs", "n_epochs",
                         "num_epochs", "num_train_epochs"),
    "training.n_warmup": ("warmup", "warmup_steps", "n_warmup_steps"),
    "training.batch_size": ("batch", "train_batch_size", "per_device_train_batch_size"),
    "training.evaluate_every": ("eval_every", "eval_steps", "eval_interval"),
    "training.init_from": ("init", "resume_from", "pretrained", "checkpoint"),
    "model.d_model": ("width", "hidden_size", "n_embd", "embed_dim", "dim"),
    "model.n_layers": ("layers", "n_layer", "num_layers", "num_hidden_layers", "depth"),
    "model.n_heads": ("heads", "n_head", "num_heads", "num_attention_heads"),
    "model.dropout": ("dropout_prob", "dropout_rate"),
    "data.seq_len": ("block_size", "context", "context_length", "max_length"),
    "data.files": ("file", "text", "texts", "train_file"),
    "data.hold_out": ("val_split", "validation_split", "holdout"),
    "tokenizer.vocab_size": ("vocab", "n_vocab"),
    "output.folder": ("output_dir", "out_dir", "out"),
    "output.checkpoint_every": ("save_steps", "save_every"),
    "output.log_every": ("logging_steps", "log_interval"),
    "objective.mlm_probability": ("select_prob",),
    "objective.mask_replace_prob": ("mask_prob",),
    "objective.random_replace_prob": ("random_prob",),
    "objective.noise_density": ("noise_share",),
    "objective.random_roll": ("roll",),
    "objective.mean_noise_span_length": ("mean_span_len",),
}  # fmt: skip
ALIASES = {other: name for name, others in _SAME.items() for other in others}
"""Names of other programs, and of older files -> ours, with the section."""
DEVICES = ("device", "cuda", "gpu", "use_cpu", "no_cuda")


def unknown_section(name: str, sections: Iterable[str]) -> str:
    """Say that there is no such section, and which one is near."""
    names = list(sections)
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    meant = f"did you mean [{near[0]}]?" if near else f"expected {_listed(f'[{n}]' for n in names)}"
    return f"unknown section [{name}]: {meant}"


def unknown_option(section: str, name: str, known: Mapping[str, Iterable[str]]) -> str:
    """Say that a section has no such option, and which one is meant; `known` has all of them."""
    start = f"unknown option {section}.{name}: "
    if name in DEVICES:
        return start + "a GPU is taken where there is one; the command's --cpu leaves it alone"
    meant = meant_by(name, known, section)
    if meant:
        return f"{start}did you mean {meant}?"
    return f"{start}expected one of {_listed(known[section])}"


def meant_by(name: str, known: Mapping[str, Iterable[str]], section: str = "") -> str | None:
    """Find the option that a name stands for; names of its own section come first."""
    near_alias = get_close_matches(name, list(ALIASES), n=1, cutoff=0.85)
    alias = ALIASES[near_alias[0]] if near_alias and name not in known.get(section, ()) else ""
    if alias and alias.partition(".")[2] in known.get(alias.partition(".")[0], ()):
        return alias
    if near := get_close_matches(name, list(known.get(section, ())), n=1, cutoff=0.6):
        return f"{section}.{near[0]}"
    for other, options in known.items():
        if name in options:
            return f"{other}.{name}"
    return None


def _listed(names: Iterable[str]) -> str:
    """Write names one after another."""
    return ", ".join(names)
