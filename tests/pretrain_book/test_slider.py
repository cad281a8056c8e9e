# SPDX-License-Identifier: MIT
"""Explorers: one slider, all states inside, the first shown; live only for a person."""

import base64
import io
import re
from html.parser import HTMLParser

import matplotlib as mpl
import nbclient
import nbformat
import numpy as np
import pytest
from matplotlib import pyplot as plt
from PIL import Image

from pretrain_book import widgets as module
from pretrain_book.html import bars_html
from pretrain_book.slider import slider

mpl.use("Agg")


def bars(temperature):
    return bars_html(["a", "b"], [0.5, 0.25 * temperature], f"at {temperature}", top=1.0)


def stored(explorer):
    return explorer._repr_mimebundle_()["text/html"]


def test_the_page_has_one_slider_and_all_states_with_the_first_shown():
    html = stored(slider(bars, [0.5, 1.0, 2.0], "temperature", start=1))
    assert html.count("<input") == html.count('type="range"') == 1
    assert 'min="0" max="2" value="1"' in html
    assert re.findall(r'data-value="([\d.]+)"( hidden)?', html) == [
        ("0.5", " hidden"),
        ("1.0", ""),
        ("2.0", " hidden"),
    ]
    assert all(f"at {value}" in html for value in (0.5, 1.0, 2.0))


def test_the_slider_is_named_and_says_its_value():
    html = stored(slider(bars, [0.5, 1.0], "temperature", unit="<nats>"))
    assert re.search(r"<label>temperature <input [^>]*aria-valuetext=\"0.5 &lt;nats&gt;\"", html)
    assert "0.5 &lt;nats&gt;</output>" in html
    assert "setAttribute('aria-valuetext',t)" in html.replace("&#x27;", "'")


def test_nothing_is_loaded_and_no_script_element_or_widget_is_stored():
    bundle = slider(bars, [0.5, 1.0], "temperature")._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert not any(word in bundle["text/html"] for word in ("http", "<script", "src=", "import("))


def test_the_markup_is_well_formed():
    open_tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, _: tag != "input" and open_tags.append(tag)
    parser.handle_endtag = lambda tag: open_tags.remove(tag)
    parser.feed(stored(slider(bars, [0.5, 1.0], 'a "quoted" <label>')))
    assert open_tags == []


def test_the_stored_form_is_the_same_in_every_run_and_the_id_comes_from_the_label():
    first, again = (stored(slider(bars, [0.5, 1.0], "Top k")) for _ in range(2))
    assert first == again
    assert re.search(r'id="explore-top-k-[0-9a-f]{8}"', first)
    assert 'id="explore-top-k-' not in stored(slider(bars, [0.5, 1.0], "Top p"))


def test_plain_text_names_the_values_and_the_state_shown():
    explorer = slider(lambda n: "<mask> " * n, [1, 2], "length", "tokens", start=1)
    assert repr(explorer) == "length: 1 tokens, 2 tokens\n<mask> <mask> "
    assert "&lt;mask&gt;" in stored(explorer)
    assert "<mask>" not in stored(explorer)


def _mask(size):
    figure, ax = plt.subplots(figsize=(1, 1))
    ax.imshow(np.tri(size))
    return figure


def test_figures_are_embedded_with_alternative_text_and_closed():
    explorer = slider(_mask, [2, 3], "size", alt=lambda n: f"causal mask of {n}")
    assert re.findall('src="(data:image/png);base64,', stored(explorer)) == ["data:image/png"] * 2
    assert 'alt="causal mask of 3" style="width:96px;' in stored(explorer)  # one inch
    assert repr(explorer) == "size: 2, 3\ncausal mask of 2"
    assert plt.get_fignums() == []


def test_an_embedded_figure_is_small_and_looks_as_it_was_drawn():
    figure = _mask(20)
    figure.set_size_inches(4, 4)
    figure.axes[0].imshow(np.random.default_rng(0).normal(size=(20, 20)), cmap="PiYG")
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    explorer = slider(lambda _: figure, [2], "size", alt="noise")
    data = re.findall('base64,([^"]+)', stored(explorer))[0]
    kept = base64.b64decode(data)
    assert 2 * len(kept) < drawn.tell()
    before, after = (
        np.asarray(Image.open(file).convert("RGB"), dtype=int) for file in (drawn, io.BytesIO(kept))
    )
    assert abs(before - after).max() <= 8


def test_a_figure_without_alternative_text_or_too_large_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="expects alt text for the figure at size = 2"):
        slider(_mask, [2], "size")
    plt.close("all")
    monkeypatch.setattr(module, "MAX_PNG_BYTES", 100)
    with pytest.raises(ValueError, match="at most 100 bytes"):
        slider(_mask, [2], "size", alt="a mask")


@pytest.mark.parametrize(
    ("values", "label", "start", "message"),
    [
        ([], "n", 0, r"expects 1\.\.12 values, got 0"),
        (range(13), "n", 0, "got 13"),
        ([1, 1], "n", 0, "different values"),
        ([1, 2], "n", 2, r"start in 0\.\.1, got 2"),
        ([1, 2], " ", 0, "label that names the slider"),
    ],
)
def test_bad_arguments_are_refused(values, label, start, message):
    with pytest.raises(ValueError, match=message):
        slider(str, values, label, start=start)


def test_a_function_that_returns_nothing_to_show_is_refused():
    with pytest.raises(ValueError, match="got nothing for n = 1"):
        slider(lambda n: None, [1], "n")


def test_the_live_slider_calls_the_function_for_values_between():
    control, view = slider(bars, [0.5, 1.0, 2.0], "temperature", start=1).live().children
    assert (type(control).__name__, control.value) == ("FloatSlider", 1.0)
    assert (control.min, control.max, control.step) == (0.5, 2.0, 0.1)
    control.value = 0.7
    assert view.value == bars(0.7).html


def test_the_live_slider_fits_its_values():
    whole, _ = slider(str, [2, 8], "k").live(step=2).children
    assert (type(whole).__name__, whole.step) == ("IntSlider", 2)
    names, view = slider(str, ["pre", "post"], "norm").live().children
    assert type(names).__name__ == "SelectionSlider"
    names.value = "post"
    assert "post" in view.value
    large, _ = slider(str, [0.5, 100.0], "rate").live(step=0.25).children
    assert (large.step, large.readout_format) == (0.25, ".2f")


def test_a_person_gets_the_live_slider_and_a_runner_the_stored_form(monkeypatch):
    explorer = slider(str, [1, 2], "n")
    with pytest.raises(NotImplementedError):
        explorer._ipython_display_()
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    monkeypatch.setattr(module, "is_interactive", lambda: True)
    explorer._ipython_display_()
    assert [type(widget).__name__ for widget in shown] == ["VBox"]


def test_for_a_person_states_wait_until_they_are_needed(monkeypatch):
    monkeypatch.setattr(module, "is_interactive", lambda: True)
    calls = []
    explorer = slider(lambda n: calls.append(n) or "text", [1, 2], "n")
    assert calls == []
    assert repr(explorer) == "n: 1, 2\ntext"
    assert calls == [1, 2]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_a_notebook_runner_stores_no_widget():
    source = "from pretrain_book.slider import slider\nslider(lambda n: 'x' * n, [1, 2], 'n')"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbclient.NotebookClient(notebook, kernel_name="python3").execute()
    (output,) = notebook.cells[0].outputs
    assert output.output_type == "execute_result"
    assert set(output.data) == {"text/html", "text/plain"}
    assert "widgets" not in notebook.metadata
