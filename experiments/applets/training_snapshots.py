# SPDX-License-Identifier: MIT
"""What the applet `time-machine` shows beside the stored weights: data/applets/time_machine.json.

Takes the loss of each look from data/runs/time_machine.json, and what the rounding costs from
data/runs/time_machine_weights.json. Of each model it chooses the head that a page shows first, by a
rule: the one that learned most to look at one place. Run it again after
`experiments.book_models.training_snapshots`; a test says when that was forgotten.
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pretrain_lab.checkpoints import load_quantized
from pretrain_lab.paths import DATA, RUNS

TARGET = DATA / "applets" / "time_machine.json"
NEAR = 3  # how far from the query a habit may look, as in chapters/applets/engine/looking.mjs


def head_weights(model: nn.Module, ids: Tensor) -> Tensor:
    """Return the attention weights of all layers over one text: (N, H, T, T) for ids (T,)."""
    seen: list[Tensor] = []

    def keep(layer: nn.Module, given: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Repeat the softmax of a layer on its inputs."""
        options = {key: value for key, value in options.items() if key != "cache"}
        seen.append(layer.weights(*given, **options)[0])  # type: ignore[operator]

    hooks = [
        layer.register_forward_pre_hook(keep, with_kwargs=True)
        for name, layer in model.named_modules()
        if name.endswith(".attention")
    ]
    with torch.inference_mode():
        model(ids[None])
    for hook in hooks:
        hook.remove()
    return torch.stack(seen)


def habits(weights: Tensor) -> Tensor:
    """Average what each head puts on each of the places next to the query.

    Args:
        weights: (N, H, T, T). The first queries are left out: they have few keys to choose from.

    Returns:
        (N, H, 2 NEAR + 1), the offsets -NEAR to NEAR of the key from the query.
    """
    rows = weights[:, :, NEAR + 1 :]
    found = []
    for offset in range(-NEAR, NEAR + 1):
        diagonal = rows.diagonal(NEAR + 1 + offset, dim1=-2, dim2=-1)
        found.append(diagonal.mean(dim=-1))
    return torch.stack(found, dim=-1)


def head_that_learned(files: list[str], text: str) -> dict[str, Any]:
    """Choose the head whose habit grew most between the first look and the last.

    Args:
        files: Names of the stored weights, in the order of the training.
        text: What the models read.

    Returns:
        Layer and head from 0, the offset of the key, and the mean weight there at both looks.
    """
    shares = []
    for name in (files[0], files[-1]):
        model, tokenizer, _ = load_quantized(name)
        shares.append(habits(head_weights(model, tokenizer.encode(text))))
    before, after = shares
    best = int((after - before).argmax())
    layer, head, place = (int(i) for i in torch.unravel_index(torch.tensor(best), after.shape))
    return {
        "layer": layer, "head": head, "offset": place - NEAR,
        "shares": [round(one[layer, head, place].item(), 4) for one in shares],
    }  # fmt: skip


def record(folder: Path = RUNS) -> dict[str, Any]:
    """Choose what the page needs from the two records in a folder.

    Returns:
        Prompt, line, places and text length as recorded; for each model its looks: step, name of
        the file, bytes, bits of the weights as trained and as stored; and the head that learned.

    Raises:
        ValueError: The two records have different looks.
    """
    runs, weights = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("time_machine", "time_machine_weights")
    )
    shared = ("seed", "prompt", "text_len", "line", "places", "versions")
    result = {name: runs[name] for name in shared} | {"unit": weights["unit"]}
    for model in ("gpt", "bert"):
        looks = [(look["step"], look["bits"]) for look in runs[model]["looks"]]
        if looks != [(row["step"], row["bits_float"]) for row in weights[model]]:
            raise ValueError(f"expected the looks {looks} in both records of {model}")
        result[model] = [
            {"step": row["step"], "file": f"time_machine/{model}_{row['step']:05d}"}
            | {name: row[name] for name in ("bytes", "bits_float", "bits_int8")}
            for row in weights[model]
        ]
    result["heads"] = {
        model: head_that_learned([look["file"] for look in result[model]], runs["line"])
        for model in ("gpt", "bert")
    }
    return result


def main(target: Path = TARGET) -> None:
    """Write the file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
