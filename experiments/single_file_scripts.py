# SPDX-License-Identifier: MIT
"""Run the three single-file scripts at full length and compare them with the chapters.

Writes data/runs/scripts.json. Each script reads the training plays from a plain file and is judged
on the six test plays (T5: on the validation plays, as in its chapter), in an environment in which
only torch and the standard library can be imported (tools/bare_run.py). A comparison is between a
number of the script and what its chapter says: a recorded number with a tolerance, or the band that
the chapter's own live training must meet.

Run: python experiments/single_file_scripts.py
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pretrain.datasets import load_shakespeare
from pretrain.paths import data_file, replacing

ROOT = Path(__file__).resolve().parents[1]
UNSEEN = {"gpt": "test", "bert": "test", "t5": "validation"}
COUNTED_BITS = 0.01  # the texts are scored as one file, not play by play
N_ASKED = 2400  # about 15 % of the 16,000 characters that bert.py judges
N_SIGMAS = 4  # other windows of the same plays: standard errors between two samples


def run_script(name: str, folder: Path) -> dict[str, Any]:
    """Run one script where nothing but torch is installed.

    Args:
        name: "gpt", "bert" or "t5".
        folder: Holds the scripts and the texts, receives the result.

    Returns:
        What the script wrote.
    """
    result = folder / f"{name}.json"
    command = [sys.executable, "-I", "-S", str(ROOT / "tools/bare_run.py")]
    command += [str(folder / f"{name}.py"), str(folder / "train.txt")]
    command += ["--unseen", str(folder / f"{UNSEEN[name]}.txt"), "--json", str(result)]
    threads = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=threads)
    print(done.stdout)
    found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return found


def compare(what: str, script: float, low: float, high: float) -> dict[str, Any]:
    """Hold one number of a script against the chapter's band.

    Args:
        what: What is compared.
        script: The script's number.
        low: Lower end of the band.
        high: Upper end of the band.

    Returns:
        JSON values.
    """
    band = [round(low, 4), round(high, 4)]
    return {"what": what, "script": round(script, 4), "band": band, "holds": low <= script <= high}


def compare_shares(what: str, script: float, chapter: float, n_chapter: int) -> dict[str, Any]:
    """Hold a share of other windows against a recorded share, both drawn from the same plays.

    Args:
        what: What is compared.
        script: The script's share, of N_ASKED characters.
        chapter: The recorded share.
        n_chapter: Characters behind it.

    Returns:
        JSON values.
    """
    width = N_SIGMAS * math.sqrt(chapter * (1 - chapter) * (1 / N_ASKED + 1 / n_chapter))
    return compare(what, script, chapter - width, chapter + width)


def compare_gpt(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Compare with chapter 4: the table's counts, and the band of its live training."""
    chapter = json.loads(data_file("runs", "gpt_evaluation.json").read_text())["comparison"]
    found = [
        compare(f"bits per character, {name}", run["bits"][name], value - COUNTED_BITS,
                value + COUNTED_BITS)
        for name in ("uniform", "unigram", "kneser_ney_5")
        for value in chapter["test_bits"][name][:1]
    ]  # fmt: skip
    ends = (nats / math.log(2) for nats in (1.6, 1.8))
    return [*found, compare("bits per character, GPT trained live", run["bits"]["gpt"], *ends)]


def compare_bert(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Compare with chapter 5: the table's baselines, and the bands of its live training."""
    chapter = json.loads(data_file("runs", "bert_evaluation.json").read_text())["corrupted"]
    found = []
    for name in ("unigram", "copying"):
        for key in ("top1", "top5"):
            value, got = chapter["ways"][name][key][0], run["shares"][name][key]
            found.append(compare_shares(f"{key}, {name}", got, value, chapter["n"]))
    first = sum(run["losses"][:5]) / 5
    found.append(compare("first losses", first, math.log(64) - 0.5, math.log(64) + 0.5))
    return [*found, compare("top1, BERT trained live", run["shares"]["bert"]["top1"], 0.25, 0.65)]


def compare_t5(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Compare with chapter 6: the bands of its live training."""
    kinds, losses = run["kinds"], run["losses"]
    unigram = kinds["text"]["nats_unigram"]
    start = math.log(3000)
    return [
        compare("first loss", losses[0], start - 1, start + 1),
        compare("last 50 losses", sum(losses[-50:]) / 50, 3.3, 3.8),
        compare("nats, special tokens", kinds["special"]["nats"], 0.0, 0.5),
        compare("nats, text", kinds["text"]["nats"], unigram - 0.3, unigram + 0.3),
        compare("outputs in the right form of 200", run["n_right_form"], 191, 200),
    ]


def main() -> None:
    """Run, compare and record."""
    record = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make = [sys.executable, str(ROOT / "tools/make_scripts.py"), "--to", name]
        subprocess.run(make, check=True)
        for split in ("train", "validation", "test"):
            text = "\n".join(play.text for play in load_shakespeare(split))
            (folder / f"{split}.txt").write_text(text, encoding="utf-8")
        for script, judge in (("gpt", compare_gpt), ("bert", compare_bert), ("t5", compare_t5)):
            run = run_script(script, folder)
            losses = run.pop("losses")
            compared = judge({**run, "losses": losses})
            record[script] = {**run, "last_loss": round(losses[-1], 4), "compared": compared}
            for one in compared:
                print("holds" if one["holds"] else "FAILS", one["what"], one["script"], one["band"])
    with replacing(data_file("runs", "scripts.json")) as part:
        part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
