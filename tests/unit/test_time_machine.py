"""The looks of the time machines: kinds of characters, signs in texts, and when they look."""

from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
import torch

from pretrain.gpt import GPT
from pretrain.objectives import causal_lm_loss
from pretrain.paths import ROOT


@pytest.fixture(scope="module")
def scripts(load_script: Callable[[str], ModuleType]) -> Iterator[dict[str, ModuleType]]:
    """Load the modules beside each other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "experiments")
        names = ("time_machine_looks", "time_machine")
        yield {name: load_script(name) for name in names}


def test_every_character_has_its_kind(scripts: dict[str, ModuleType]) -> None:
    """A heading is one as a whole; a colon in a speech is a mark; an apostrophe opens no word."""
    looks = scripts["time_machine_looks"]
    kinds = looks.kinds_of("LADY ANNE:\nIt's so:\n\nALL:\nO\n").tolist()
    letters = {"space or line end": "s", "inside a word": "i", "first letter of a word": "f",
               "heading": "h", "mark": "m"}  # fmt: skip
    found = "".join(letters[looks.KINDS[kind]] for kind in kinds)
    assert found == "h" * 10 + "s" + "fimi" + "s" + "fim" + "ss" + "h" * 4 + "s" + "f" + "s"


def test_signs_count_long_words_and_headings(scripts: dict[str, ModuleType]) -> None:
    """Short words and words that are cut off do not count; a known heading also has the form."""
    texts = ["JULIET:\nwhat light thr", "QZX:\nwhat is glorp ", "no heading here\n"]
    found = scripts["time_machine_looks"].signs(texts, {"what", "light", "here"}, {"JULIET:\n"})
    assert found["heading form"][0] == pytest.approx(2 / 3)
    assert found["known heading"][0] == pytest.approx(1 / 3)
    # juliet, what, light, what, glorp, heading, here; "thr" and "is" are out
    assert found["known long words"][0] == pytest.approx(4 / 7)


def test_nothing_is_counted_where_there_is_nothing(scripts: dict[str, ModuleType]) -> None:
    """A text without long words has no share of them."""
    assert scripts["time_machine_looks"].signs(["a b"], set(), set())["known long words"] is None


def test_a_training_is_looked_at_without_being_changed(
    scripts: dict[str, ModuleType], tiny_gpt: Callable[..., GPT]
) -> None:
    """The looks come at the chosen steps and the last; drawing in them moves no weight."""
    ids = torch.randint(11, (200,), generator=torch.Generator().manual_seed(0))
    settings = {"n_steps": 60, "lr": 1e-3}
    steps, ends = [], []
    for draws in (0, 3):
        torch.manual_seed(0)
        model = tiny_gpt()

        def look(_: GPT, step: int, draws: int = draws) -> dict[str, float]:
            """Use up random numbers of a generator of the look's own."""
            torch.rand(draws, generator=torch.Generator().manual_seed(1))
            return {"step": step, "bits": 0.0}

        loss = causal_lm_loss(ids, batch_size=2, seq_len=4)
        steps.append([seen["step"] for seen in scripts["time_machine"].travel(
            model, loss, look, settings)])  # fmt: skip
        ends.append(next(model.parameters()).detach().clone())
    assert steps == [[0, 50, 60], [0, 50, 60]]
    assert torch.equal(*ends)
