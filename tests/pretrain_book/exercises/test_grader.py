# SPDX-License-Identifier: MIT
"""What the checkers of exercises share: kinds, predicates, verdicts, and how one is found."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch

from pretrain_book.exercises import check
from pretrain_book.exercises.answer_types import (
    AnswerTypeError,
    Choice,
    Function,
    Number,
    Numbers,
    Words,
    described,
    plain,
)
from pretrain_book.exercises.grader import (
    MODULES,
    OPEN,
    SINGLE,
    Checker,
    Part,
    find_checker,
    labels,
    single_answer,
)
from pretrain_book.exercises.predicates import (
    Mistake,
    acts_like,
    at,
    between,
    both,
    equals,
    like,
    nats_for_bits,
    near,
    off_by_factor,
    off_by_one,
    percent_for_share,
    share_for_percent,
    wrong_sign,
)

HALF = single_answer(
    "ex-x-half",
    "warm-up",
    Number("bits"),
    near(0.5),
    nats_for_bits(0.5),
    wrong_sign(0.5, "a loss is positive."),
    default_hint="halve it.",
    explanation="A half.",
)
PAIR = Checker(
    "ex-x-pair",
    "derivation",
    {
        "a": Part(Number(whole=True), equals(3), (off_by_one(3, "count both ends."),), "count."),
        "b": Part(Choice(("up", "down")), equals("up"), (), "look again."),
    },
    "Both.",
)


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (0.5, "Right. A half."),
        (np.float32(0.5), "Right. A half."),
        (torch.tensor([0.5], requires_grad=True), "Right. A half."),
        (..., OPEN),
        (0.3466, "Not yet: that is in nats, from the natural logarithm. Bits take"),
        (-0.5, "Not yet: a loss is positive."),
        (7, "Not yet: halve it."),
        ("0.5", "Not yet: expected one number (bits), got text '0.5'."),
        (None, "Not yet: expected one number (bits), got nothing (None)."),
        (math.nan, "Not yet: expected one number (bits), got NaN."),
        (-math.inf, "Not yet: expected one number (bits), got infinity."),
        (True, "Not yet: expected one number (bits), got True."),
        (1j, "Not yet: expected one number (bits), got 1j."),
        ([0.5, 0.5], "Not yet: expected one number (bits), got a list of 2."),
        (torch.zeros(2, 3), "Not yet: expected one number (bits), got numbers of shape 2 × 3."),
        (10**400, "Not yet: expected one number (bits), got "),
        (10**9999, "Not yet: expected one number (bits), got a number too large to print."),
        (print, "Not yet: expected one number (bits), got a function"),
        (object(), "Not yet: expected one number (bits), got something of type object."),
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_verdicts_on_one_number(answer, line):
    assert HALF.grade(answer).startswith(line)


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ({"a": 3, "b": "up"}, "Right. Both."),
        ({"a": 3, "b": " Up "}, "Right. Both."),
        ({"a": ..., "b": ...}, OPEN),
        (
            {"a": 3, "b": ...},
            "So far right: (a). Put your answer in place of the three dots of (b).",
        ),
        ({"a": ..., "b": "down"}, "Not yet: (b) look again."),
        (
            {"a": 4, "b": "down"},
            "Not yet: (a) count both ends. Not right yet either: (b).",
        ),
        ({"a": 9, "b": "up"}, "Not yet: (a) count."),
        ({"a": 3.5, "b": "up"}, "Not yet: (a) expected one whole number, got 3.5."),
        ({"a": 3, "b": "left"}, "Not yet: (b) expected one of 'up', 'down', got text 'left'."),
        ({"a": 3}, 'Not yet: expected a dict {"a": …, "b": …}, got one with a.'),
        ({}, 'Not yet: expected a dict {"a": …, "b": …}, got one with nothing in it.'),
        ((3, "up"), 'Not yet: expected a dict {"a": …, "b": …}, got a tuple of 2.'),
    ],
)
def test_verdicts_on_several_parts(answer, line):
    assert PAIR.grade(answer) == line


def test_the_first_mistake_that_fits_is_named():
    first, second = Mistake(between(0, 9), "first"), Mistake(between(5, 9), "second")
    part = Part(Number(), near(1.0), (first, second), "other")
    assert [part.feedback(x) for x in (1, 7, 10)] == ["", "first", "other"]


GIGABYTES = Part(
    Number("GB"),
    near(0.4448, rel=3e-3),
    (Mistake(near(0.0048), "the frozen ones too."), Mistake(between(0, 1), "too small.")),
    "all weights once.",
)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (0.4448, ""),
        (0.44, "close. If the method is right, the answer needs more digits."),
        (0.46, "close. If the method is right, the answer needs more digits."),
        (445, "that looks like megabytes; the question asks for GB."),
        (4.448e8, "that looks like bytes; the question asks for GB."),
        (0.4142, "that looks like gibibytes, of 2³⁰ bytes; the question asks for GB."),
        (0.0048, "the frozen ones too."),
        (0.2, "too small."),
        (5, "all weights once."),
    ],
)
def test_a_rounded_answer_and_another_unit_are_told_from_a_wrong_method(answer, hint):
    assert GIGABYTES.feedback(answer) == hint


@pytest.mark.parametrize(
    ("unit", "right", "answer", "words"),
    [
        ("bits per token", 2.0, 2 * math.log(2), "nats"),
        ("nats", 1.0, 1 / math.log(2), "bits"),
        ("%", 42.0, 0.42, "a share"),
        ("share of errors", 0.42, 42, "per cent"),
        ("hours", 2.0, 120, "minutes"),
        ("days", 2.0, 48, "hours"),
        ("t", 1.5, 1500, "kilograms"),
        ("MWh", 1.5, 1500, "kilowatt-hours"),
    ],
)
def test_units_are_named(unit, right, answer, words):
    part = Part(Number(unit), near(right), (), "another way.")
    assert part.feedback(answer).startswith(f"that looks like {words}")
    assert part.feedback(10 * answer) == "another way."


def test_a_known_mistake_near_the_right_number_keeps_its_hint_and_a_count_is_not_rounded():
    known = Part(Number("bits"), near(1.0), (Mistake(near(1.02), "one token too many."),), "other")
    assert known.feedback(1.02) == "one token too many."
    assert (
        Part(Number("tokens", whole=True), near(100, rel=0), (), "count.").feedback(101) == "count."
    )
    several = Part(Numbers((2,), "bits"), near([1.5, 2.0]), (), "other")
    assert several.feedback([1.52, 2.0]).startswith("close")
    assert several.feedback([1.52, 3.0]) == "other"


@pytest.mark.parametrize("rows", [[[1, 2], [3, 4]], ((1, 2), (3, 4)), np.array([[1, 2], [3, 4]])])
def test_numbers_come_from_lists_arrays_and_tensors(rows):
    read = Numbers((2, 2)).read(rows)
    assert read.dtype == np.float64
    assert read.tolist() == [[1, 2], [3, 4]]
    tensor = torch.tensor(np.asarray(rows, dtype=float), requires_grad=True)
    assert Numbers((None, 2)).read(tensor).tolist() == [[1, 2], [3, 4]]
    assert Numbers((2,)).read([tensor[0, 0], np.float64(7)]).tolist() == [1, 7]
    assert Numbers((2,)).read(torch.tensor([True, False])).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("shape", "answer", "got"),
    [
        ((3,), [1, 2], "expected a list of 3 numbers, got a list of 2 numbers"),
        ((None,), 4, "expected a list of numbers, got one number"),
        (
            (2, None),
            [[1], [2], [3]],
            "expected numbers of shape 2 × any, got numbers of shape 3 × 1",
        ),
        ((2, 2), [[1, 2], [3]], "got rows of different lengths"),
        ((2,), [1, "2"], "got a list of 2"),
        ((2,), [1, None], "got a list of 2"),
        ((2,), [1, math.nan], "got NaN among the numbers"),
        ((2,), {1, 2}, "got a set of 2"),
        ((2,), torch.empty(2, device="meta"), "got a list of 2 numbers"),
    ],
)
def test_numbers_of_another_shape_are_refused(shape, answer, got):
    with pytest.raises(AnswerTypeError) as error:
        Numbers(shape).read(answer)
    assert got in str(error.value)


def test_strings_in_pieces_are_to_be_joined():
    with pytest.raises(AnswerTypeError, match=r"got \['s', 'ea'\]: write 'sea' instead"):
        Words(what="pairs, each written as one string").read([("s", "ea"), ("ea", "t")])


def test_words():
    assert Words(2, "merges").read(["ea", "tea"]) == ("ea", "tea")
    for answer, got in (("ea", "got text 'ea'"), ([1, 2], "a list of 2"), (["ea"], "got 1")):
        with pytest.raises(AnswerTypeError, match=got):
            Words(2, "merges").read(answer)
    with pytest.raises(AnswerTypeError, match="a list of strings, got 0"):
        Words().read([])


def halves(x):
    return [x / 2] * 2


CASES = ((1.0,), (3.0,))
HALVES = Function("halves(x)", CASES, Numbers((2,)))


def test_functions_are_judged_by_what_they_return():
    read = HALVES.read(halves)
    assert acts_like(halves, CASES)(read)
    assert like([0.5, 0.5], [1.5, 1.5])(read)
    assert not acts_like(lambda x: [x, x], CASES)(read)
    assert not like([0.5, 0.5])(read)  # a case is missing
    mixed = Function("f(x)", CASES, (Number(), Numbers((3,))))
    assert len(mixed.read(lambda x: x if x == 1 else [x] * 3)) == 2


@pytest.mark.parametrize(
    ("function", "got"),
    [
        (3, "expected a function halves(x), got 3"),
        (lambda x: 1 / 0, "halves(1.0) stopped with ZeroDivisionError: division by zero"),
        (lambda: 1, "stopped with TypeError: "),
        (lambda x: None, "halves(1.0) should return something else: expected a list of 2 numbers"),
        (lambda x: [x] * 3, "got a list of 3 numbers"),
        (lambda x: [x, math.nan], "got NaN among the numbers"),
    ],
)
def test_what_goes_wrong_in_a_function_is_said(function, got):
    with pytest.raises(AnswerTypeError) as error:
        HALVES.read(function)
    assert got in str(error.value)
    assert error.value.__suppress_context__ or error.value.__context__ is None  # no traceback


def test_a_function_cannot_change_the_cases():
    kind = Function("f(x)", (([1, 2],),), Number())

    def pops(x):
        return x.pop()

    assert kind.read(pops) == kind.read(pops) == (2.0,)


def test_predicates():
    assert near(2.0, 4.0)(4.01)
    assert not near(2.0, 4.0)(3.0)
    assert near([1.0, 0.0], abs_=1e-3)(np.array([1.0, 5e-4]))
    assert not near([1.0, 0.0])(np.array([1.0, 5e-4]))  # relative to 0 nothing is close
    assert not near([1.0])(np.array([1.0, 1.0]))
    assert between(1, 2)(2)
    assert not between(1, 2)(2.1)
    assert equals("a", "b")("b")
    assert not equals(1)(True)
    assert at(1, near(5))([0, 5])
    assert both(between(0, 2), near(1))(1)
    assert not both(between(0, 2), near(1))(2)


@pytest.mark.parametrize(
    ("mistake", "value", "word"),
    [
        (off_by_factor(10, 8, "bytes and bits."), 80, "bytes"),
        (percent_for_share(0.25), 25, "percentage"),
        (share_for_percent(25), 0.25, "share"),
        (nats_for_bits(1.0), math.log(2), "nats"),
        (wrong_sign(2, "minus."), -2, "minus"),
        (off_by_one(7, "ends."), 8, "ends"),
    ],
)
def test_common_mistakes(mistake, value, word):
    assert mistake.when(value)
    assert not mistake.when(value * 1.5)
    assert word in mistake.hint


def test_plain_values_and_their_descriptions():
    nested = {"a": (np.arange(2), torch.tensor(3))}
    assert plain(nested) == {"a": [[0, 1], 3]}
    assert described("x" * 200) == f"text '{'x' * 53}…"
    assert described({"a": 1}) == "a dict of 1"
    assert described(torch.Tensor).startswith("a function")


def test_an_unknown_exercise_names_similar_ones_in_one_line(capsys):
    for label, words in (
        ("ex-gpt-top-p", "no exercise 'ex-gpt-top-p'; did you mean ex-gpt-topp"),
        *((nonsense, "did you mean ex-") for nonsense in ("", "topp", "ex-zzz-topp")),
    ):
        with pytest.raises(ValueError, match=words):
            find_checker(label)
        check(label, 1)
        said = capsys.readouterr().out
        assert words in said
        assert said.count("\n") == 1


def test_check_prints_the_verdict(capsys):
    label = labels()[0]
    assert check(label, ...) is None
    assert capsys.readouterr().out == f"{OPEN}\n"


def test_labels_and_modules_belong_together():
    assert labels() == [label for name in MODULES for label in labels(name)]
    assert len(set(labels())) == len(labels())
    assert find_checker(labels()[0]) is find_checker(labels()[0])


@pytest.mark.parametrize("label", labels())
def test_every_checker_can_be_made(label):
    checker = find_checker(label)
    assert checker.exercise == label
    assert checker.grade(...) == OPEN
    assert checker.grade(object()).startswith("Not yet: expected ")


def test_a_part_without_name_stands_alone():
    assert SINGLE in HALF.parts
    assert "ex-x-half" not in labels()


def test_importing_all_checkers_is_light():
    code = (
        "import sys; from pretrain_book.exercises.grader import labels; labels(); "
        "print(sorted({'torch', 'transformers', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
