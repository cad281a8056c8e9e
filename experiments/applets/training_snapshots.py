# SPDX-License-Identifier: MIT
"""What the applet `time-machine` shows beside the stored weights: data/applets/time_machine.json.

Takes the loss of each look from data/runs/time_machine.json, and what the rounding costs from
data/runs/time_machine_weights.json; measures nothing itself. Run it again after
`experiments.book_models.training_snapshots`; a test says when that was forgotten.
"""

import json
from pathlib import Path
from typing import Any

from pretrain_lab.paths import DATA, RUNS

TARGET = DATA / "applets" / "time_machine.json"


def record(folder: Path = RUNS) -> dict[str, Any]:
    """Choose what the page needs from the two records in a folder.

    Returns:
        Prompt, line, places and text length as recorded, and for each model its looks: step, name
        of the file, bytes, bits of the weights as trained and as stored.

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
    return result


def main(target: Path = TARGET) -> None:
    """Write the file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
