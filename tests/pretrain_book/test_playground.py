# SPDX-License-Identifier: MIT
"""Playgrounds: one control for each argument, live for a person, the first state in the page."""

import matplotlib as mpl
import nbclient
import nbformat
import pytest
import torch
from jupyter_core.utils import run_sync
from matplotlib import pyplot as plt

from pretrain_book import widgets as module
from pretrain_book.html import table_html
from pretrain_book.playground import playground

mpl.use("Agg")


def said(text, times=1, loud=False, mark="!"):
    if "?" in text:
        raise ValueError("expected a statement, got a question <?>")
    return " ".join([text.upper() if loud else text] * times) + mark


def example(**changes):
    controls = {"text": "to be", "times": (1, 4), "loud": False, "mark": ["!", "."]}
    return playground(said, **(controls | changes))


def stored(player):
    return player._repr_mimebundle_()["text/html"]


def parts(player):
    *rows, view = player.live().children
    controls = [getattr(row, "children", (row,))[0] for row in rows]
    return {control.description: control for control in controls}, view


def test_the_kind_of_value_chooses_the_control():
    def show(text, play, loud, seed, rate, layers, share, size, name):
        return "shown"

    controls, _ = parts(
        playground(
            show,
            text="to be",
            play="JULIET:\nO",
            loud=True,
            seed=3,
            rate=0.5,
            layers=(1, 6),
            share=(0.05, 0.5),
            size=range(10, 41, 10),
            name=["gpt", "bert"],
        )
    )
    assert {name: type(one).__name__ for name, one in controls.items()} == {
        "text": "Text",
        "play": "Textarea",
        "loud": "Checkbox",
        "seed": "IntText",
        "rate": "FloatText",
        "layers": "BoundedIntText",
        "share": "BoundedFloatText",
        "size": "BoundedIntText",
        "name": "Dropdown",
    }
    first = [one.value for one in controls.values()]
    assert first == ["to be", "JULIET:\nO", True, 3, 0.5, 1, 0.05, 10, "gpt"]
    assert (controls["share"].max, controls["share"].step) == (0.5, 0.01)
    assert (controls["size"].max, controls["size"].step) == (40, 10)


def test_a_control_is_named_by_its_argument_in_words():
    controls, _ = parts(playground(lambda top_k: str(top_k), top_k=(1, 5)))
    assert list(controls) == ["top k"]


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("text", "or not", "or not!"),
        ("times", 2, "to be to be!"),
        ("loud", True, "TO BE!"),
        ("mark", ".", "to be."),
    ],
)
def test_changing_a_control_changes_the_state(name, value, shown):
    controls, view = parts(example())
    assert ">to be!</pre>" in view.value
    controls[name].value = value
    assert f">{shown}</pre>" in view.value


@pytest.mark.parametrize(
    ("pair", "step"),
    [((0.0, 1.0), 0.01), ((18.0, 26), 0.1), ((0.1, 2.0), 0.01), ((5.0, 500.0), 10.0), ((1, 9), 1)],
)
def test_the_steps_of_a_slider_fit_its_length(pair, step):
    controls, _ = parts(playground(lambda n: str(n), n=pair))
    assert controls["n"].step == step


def test_play_does_not_change_what_later_cells_draw():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    controls, _ = parts(playground(lambda n: str(torch.rand(n).sum()), n=(1, 9)))
    controls["n"].value = 5
    assert torch.equal(torch.rand(3), expected)


def test_several_changes_add_up():
    controls, view = parts(example())
    controls["times"].value = 2
    controls["loud"].value = True
    assert ">TO BE TO BE!</pre>" in view.value


def test_a_slider_stands_beside_a_number_field_with_its_name_and_moves_with_it():
    row, view = playground(lambda layer: f"layer {layer}", layer=(1, 6)).live().children
    field, slider = row.children
    assert (type(slider).__name__, slider.min, slider.max) == ("IntSlider", 1, 6)
    assert (field.description, slider.description) == ("layer", "")
    slider.value = 4
    assert (field.value, ">layer 4<" in view.value) == (4, True)
    field.value = 2
    assert (slider.value, ">layer 2<" in view.value) == (2, True)


def test_a_slider_gives_numbers_without_float_noise():
    controls, view = parts(playground(lambda share: f"{share!r}", share=(0.1, 0.9)))
    controls["share"].value = 0.1 + 0.2
    assert ">0.3</pre>" in view.value


def test_an_error_of_the_function_shows_as_its_message_and_goes_away():
    controls, view = parts(example())
    controls["text"].value = "to be?"
    assert 'role="alert"' in view.value
    assert "expected a statement, got a question &lt;?&gt;</p>" in view.value
    assert "to be" not in view.value, "no old state beside the message"
    controls["text"].value = "to be"
    assert "alert" not in view.value
    assert ">to be!</pre>" in view.value


def test_other_errors_name_their_class():
    controls, view = parts(
        playground(lambda n: "text" if n else {}["key"], n=(0, 3), start={"n": 3})
    )
    controls["n"].value = 0
    assert "KeyError: &#x27;key&#x27;" in view.value


def test_an_error_for_the_first_values_is_raised_where_the_state_is_stored():
    with pytest.raises(ValueError, match="expected a statement"):
        example(text="to be?")


def test_the_stored_form_is_the_first_state_without_anything_to_move():
    player = example(text="<to>\nbe")
    assert set(player._repr_mimebundle_()) == {"text/html", "text/plain"}
    html = stored(player)
    assert "text: <strong>&lt;to&gt;↵be</strong> · times: <strong>1</strong>" in html
    assert "&lt;to&gt;\nbe!</pre>" in html
    assert not any(word in html for word in ("<input", "<script", "http", "oninput", "widget"))
    assert repr(player) == "text = <to>↵be, times = 1, loud = False, mark = !\n<to>\nbe!"


def test_the_stored_form_says_that_a_field_is_empty():
    html = stored(playground(lambda text: f"{len(text)} characters", text=""))
    assert "text: <strong>(empty)</strong></p>" in html
    assert "0 characters" in html


def test_the_stored_form_is_the_same_in_every_run():
    assert stored(example()) == stored(example())
    assert stored(example()) != stored(example(text="or not"))


def test_start_values_are_used_in_both_forms():
    player = example(start={"times": 3, "mark": "."})
    assert ">to be to be to be.</pre>" in stored(player)
    controls, view = parts(player)
    assert (controls["times"].value, controls["mark"].value) == (3, ".")
    assert ">to be to be to be.</pre>" in view.value


def test_pieces_of_html_and_figures_are_shown_as_they_are():
    assert "<table>" in stored(playground(lambda n: table_html(["n"], [[n]]), n=(1, 2)))

    def line(n):
        figure, ax = plt.subplots(figsize=(1, 1))
        ax.plot([0, n])
        return figure

    html = stored(playground(line, n=(1, 2), alt=lambda n: f"a line to {n}"))
    assert 'src="data:image/png;base64,' in html
    assert 'alt="a line to 1"' in html
    assert plt.get_fignums() == []
    with pytest.raises(ValueError, match="playground expects alt text for the figure at n = 1"):
        playground(line, n=(1, 2))
    plt.close("all")


@pytest.mark.parametrize(
    "value",
    [None, {}, [], [1, 1], [None], (2, 1), (1, 1), ("a", "b"), (True, False), (1, 2, 3), range(0)],
)
def test_a_value_that_is_no_control_is_refused(value):
    with pytest.raises(ValueError, match=r"expects n to be text, .* got "):
        playground(str, n=value)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"time": 2}, r"start values for \['text', 'times', 'loud', 'mark'\], got \['time'\]"),
        ({"times": 5}, r"times to start with a number in 1\.\.4 in steps of 1, got 5"),
        ({"times": 1.5}, "in steps of 1, got 1.5"),
        ({"times": True}, "got True"),
        ({"mark": "?"}, r"mark to start with one of \['!', '\.'\], got '\?'"),
        ({"text": "or"}, "text begins with the value given for it"),
    ],
)
def test_a_start_value_that_is_none_of_its_controls_is_refused(start, message):
    with pytest.raises(ValueError, match=message):
        example(start=start)


def test_a_start_off_the_steps_of_a_range_is_refused_and_decimals_are_free():
    with pytest.raises(ValueError, match=r"in 10\.\.30 in steps of 10, got 15"):
        playground(lambda n: str(n), n=range(10, 40, 10), start={"n": 15})
    controls, _ = parts(playground(lambda n: str(n), n=(0.5, 2.0), start={"n": 0.75}))
    assert (controls["n"].value, controls["n"].step) == (0.75, 0.01)


def test_a_function_of_other_arguments_and_no_controls_are_refused():
    with pytest.raises(ValueError, match=r"arguments \['word'\]: missing a required argument"):
        playground(said, word="to be")
    with pytest.raises(ValueError, match="at least one control"):
        playground(said)


def test_whatever_a_function_returns_is_shown_as_text_but_nothing_is_refused():
    assert ">1</pre>" in stored(playground(lambda n: n, n=(1, 2)))
    assert ">[0.5]</pre>" in stored(playground(lambda n: [n / 2], n=(1, 2)))
    with pytest.raises(ValueError, match=r"playground expects its function .* nothing for n = 1"):
        playground(lambda n: None, n=(1, 2))


def test_a_slider_hands_its_field_a_tidy_number_and_text_waits_for_enter():
    row = playground(lambda share: share, share=(0.1, 1.5)).live().children[0]
    field, control = row.children
    control.value = 0.1 + 90 * 0.01  # as the browser computes it
    assert (field.value, control.value) == (1.0, pytest.approx(1.0))
    field.value = 0.5
    assert control.value == 0.5
    text = playground(lambda word: word, word="to be").live().children[0]
    assert not text.continuous_update


def test_a_person_may_leave_the_alternative_text_out(monkeypatch):
    monkeypatch.setattr(module, "is_interactive", lambda: True)
    player = playground(lambda n: plt.figure(figsize=(n, 1)), n=(1, 2))
    assert 'alt="Figure for n = 1."' in player.live().children[-1].value


def test_a_person_gets_live_controls_and_nothing_is_computed_before(monkeypatch):
    shown, calls = [], []
    monkeypatch.setattr("IPython.display.display", shown.append)
    player = example()
    with pytest.raises(NotImplementedError):
        player._ipython_display_()
    monkeypatch.setattr(module, "is_interactive", lambda: True)
    player = playground(lambda n: calls.append(n) or "text", n=(1, 2))
    assert calls == []
    player._ipython_display_()
    assert calls == [1]
    assert [type(widget).__name__ for widget in shown] == ["VBox"]
    assert repr(player) == "n = 1\ntext"


SOURCE = """
from pretrain_book.playground import playground
def shout(text):
    if "?" in text:
        raise ValueError("expected no question")
    return text.upper()
playground(shout, text="to be")
"""
VIEW = "application/vnd.jupyter.widget-view+json"
WAIT_SECONDS = 60  # only a kernel that hangs takes so long


def _started():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SOURCE)])
    return nbclient.NotebookClient(notebook, kernel_name="python3"), notebook.cells[0]


def _type(client, model_id, value):
    """Send what a front end sends when somebody types, and wait for the new state."""
    state = {"method": "update", "state": {"value": value}, "buffer_paths": []}
    message = client.kc.session.msg("comm_msg", {"comm_id": model_id, "data": state})
    client.kc.shell_channel.send(message)
    while True:
        reply = run_sync(client.kc.get_iopub_msg)(timeout=WAIT_SECONDS)
        mine = reply["parent_header"].get("msg_id") == message["header"]["msg_id"]
        data = reply["content"].get("data", {})
        if mine and reply["msg_type"] == "comm_msg" and data.get("method") == "update":
            return reply["content"]["comm_id"], data["state"]["value"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_in_a_running_kernel_a_person_gets_a_widget_that_answers_what_is_typed():
    client, cell = _started()
    with client.setup_kernel():
        client.kc.allow_stdin = True  # what tells a front end from a notebook runner
        client.execute_cell(cell, 0)
        (output,) = cell.outputs
        box = client.widget_state[output.data[VIEW]["model_id"]]
        field, view = (name.removeprefix("IPY_MODEL_") for name in box["children"])
        assert client.widget_state[field]["description"] == "text"
        assert ">TO BE</pre>" in client.widget_state[view]["value"]
        changed, value = _type(client, field, "or not")
        assert changed == view
        assert ">OR NOT</pre>" in value
        assert "expected no question" in _type(client, field, "or not?")[1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_in_a_running_kernel_a_notebook_runner_stores_no_widget():
    client, cell = _started()
    client.execute()
    (output,) = cell.outputs
    assert set(output.data) == {"text/html", "text/plain"}
    assert output.data["text/plain"] == "text = to be\nTO BE"
    assert "widgets" not in client.nb.metadata
