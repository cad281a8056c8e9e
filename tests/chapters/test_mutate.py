# SPDX-License-Identifier: MIT
"""The record of mutants: what is counted, what a survivor is called, what explains it."""

import json
import tomllib
from pathlib import Path

import pytest

import mutate

DIFF = """\
# pretrain.masks.x_causal_mask__mutmut_3: survived
--- src/pretrain/masks.py
+++ src/pretrain/masks.py
@@ -1,3 +1,3 @@
 def causal_mask(seq_len):
-    if seq_len < 1:
+    if seq_len <= 1:
         raise ValueError
"""
EXPLAINED = {
    "module": "masks",
    "function": "causal_mask",
    "changed": "if seq_len <= 1:",
    "reason": "a planted reason",
}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let mutmut show one difference."""
    monkeypatch.setattr(mutate, "_mutmut", lambda *words: DIFF)


@pytest.mark.usefixtures("shown")
class TestSurvivor:
    NAME = "pretrain.masks.x_causal_mask__mutmut_3"

    def test_names_the_function_and_the_change(self):
        assert mutate.survivor(self.NAME, []) == {
            "function": "causal_mask",
            "before": "if seq_len < 1:",
            "after": "if seq_len <= 1:",
            "reason": "",
        }

    def test_a_method_is_named_without_its_class(self):
        name = "pretrain.gpt.xǁGPTǁforward__mutmut_1"
        assert mutate.survivor(name, [])["function"] == "forward"

    def test_is_explained_by_function_and_changed_line_together(self):
        assert mutate.survivor(self.NAME, [EXPLAINED])["reason"] == "a planted reason"
        for other in ({"function": "cross_mask"}, {"changed": "if seq_len < 2:"}):
            assert mutate.survivor(self.NAME, [EXPLAINED | other])["reason"] == ""

    def test_or_by_the_line_that_is_changed(self):
        entry = {name: EXPLAINED[name] for name in ("module", "function", "reason")}
        assert mutate.survivor(self.NAME, [entry | {"line": "if seq_len < 1:"}])["reason"]
        assert mutate.survivor(self.NAME, [entry | {"line": "if seq_len < 2:"}])["reason"] == ""
        assert mutate.survivor(self.NAME, [entry])["reason"] == ""


DECORATED = """\
@torch.no_grad()
@checked
def losses(model):
    return model()


class Text:
    @property
    def size(self):
        return 3

    @classmethod
    def make(cls):
        return cls()
"""


def test_decorators_move_below_their_functions():
    lines = mutate.undecorated(DECORATED).splitlines()
    assert lines == [
        "def losses(model):",
        "    return model()",
        "losses = torch.no_grad()(checked(losses))",
        "",
        "",
        "class Text:",
        "    def size(self):",
        "        return 3",
        "    size = property(size)",
        "",
        "    @classmethod",
        "    def make(cls):",
        "        return cls()",
    ]


def test_results_of_modules_are_collected_in_one_record(tmp_path: Path):
    record = tmp_path / "mutation.json"
    gap = {"function": "f", "before": "a", "after": "b", "reason": ""}
    mutate.store(record, "spans", {"mutants": 30, "caught": 29, "survivors": [gap]})
    known = gap | {"reason": "equal"}
    mutate.store(record, "masks", {"mutants": 10, "caught": 9, "survivors": [known]})
    content = json.loads(record.read_text(encoding="utf-8"))
    assert list(content) == ["masks", "spans"]
    assert mutate.summary(content) == (
        "mutate: 38 of 40 mutants caught (95.0%) in 2 modules; 1 survivors explained, 1 not"
    )


def test_a_module_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]):
    assert mutate.main(["mask"]) == 1
    assert "no module 'mask'" in capsys.readouterr().err


def test_the_list_names_modules_that_exist_and_explains_with_a_reason():
    table = tomllib.loads(mutate.LIST.read_text(encoding="utf-8"))
    for module in table["modules"]:
        assert (mutate.ROOT / "code" / "pretrain" / f"{module}.py").is_file(), module
        for name in table["tests"].get(module, [f"test_{module}.py"]):
            assert (mutate.ROOT / "tests" / "unit" / name).is_file(), name
    for one in table.get("explained", []):
        assert len(one["reason"]) > 15, one
