# SPDX-License-Identifier: MIT
"""The rules without a model, on examples made by hand and on the test plays."""

import pytest
from torch import Generator

from pretrain_lab.tasks.character_ner import NamePassage
from pretrain_lab.tasks.rule_baselines import (
    bio_spans,
    entity_f1,
    majority_share,
    mark_unseen,
    name_rules,
    speaker_change_rules,
    speaker_rules,
)
from pretrain_lab.tasks.speakers import SpeakerChange, SpeakerQuestion, read_speakers


def test_majority_is_that_of_training() -> None:
    """The most frequent training label, although another is commoner in test."""
    assert majority_share(["a", "a", "b"], ["a", "b", "b", "b"]) == 0.25
    with pytest.raises(ValueError, match="expected labels, got 2 and 0"):
        majority_share(["a", "b"], [])


def test_change_rules_by_hand() -> None:
    """The length of the second sentence tells all here, in either direction; nothing else does."""
    pairs = [
        SpeakerChange("Who is it?", "I.", 1, "x"), SpeakerChange("It is he.", "Ay.", 1, "x"),
        SpeakerChange("Who is it?", "Who comes here now?", 0, "x"),
        SpeakerChange("It is he.", "He comes again, I say.", 0, "x"),
    ]  # fmt: skip
    rules = speaker_change_rules(pairs, pairs)
    assert rules == {"majority": 0.5, "question": 0.5, "first length": 0.5, "second length": 1.0}
    turned = [pair._replace(label=1 - pair.label) for pair in pairs]
    assert speaker_change_rules(turned, turned)["second length"] == 1.0


def test_spans_of_tags() -> None:
    """An I without a B starts a name; two Bs are two names."""
    assert bio_spans(["B", "I", "O", "I", "B", "B"]) == [(0, 2), (3, 4), (4, 5), (5, 6)]


def test_entity_f1_counts_whole_names() -> None:
    """Half of a name is no hit: one of two found, one of three real."""
    scores = entity_f1([["B", "O", "B"], ["O"]], [["B", "O", "O"], ["B"]])
    assert scores == (0.5, 0.5, 0.5)
    assert entity_f1([["B", "O"]], [["B", "I"]]).f1 == 0
    assert entity_f1([["O"]], [["O"]]) == (0, 0, 0)
    with pytest.raises(ValueError, match="as many tags as words"):
        entity_f1([["O"]], [["O", "O"]])


def test_name_rules_by_hand() -> None:
    """The list knows one name, rarity finds the other and a rare word, capitals find both."""
    train = [NamePassage(("good", "hamlet,"), ("O", "B"), "x")]
    words = ("good", "Hamlet", "saw", "Xyzzy", "qwfp")
    rules = name_rules(train, [NamePassage(words, ("O", "B", "O", "B", "O"), "y")])
    assert rules["list"] == pytest.approx((1, 0.5, 2 / 3))
    assert rules["unseen"] == pytest.approx((0.5, 0.5, 0.5))
    assert rules["capital"] == (1, 1, 1)


def test_a_recurring_word_is_counted_in_its_own_play() -> None:
    """Macbeth is named often in one play; a word of no play is not, nor Macbeth in another."""
    words = ("good", "Macbeth,", "qwfp")
    here, elsewhere = (NamePassage(words, ("O", "B", "O"), p) for p in ("macbeth", "pericles"))
    assert mark_unseen(here) == mark_unseen(elsewhere) == ["O", "B", "B"]
    assert mark_unseen(here, 5) == ["O", "B", "O"]
    assert mark_unseen(elsewhere, 5) == ["O", "O", "O"]
    with pytest.raises(ValueError, match="name of a play"):
        mark_unseen(here._replace(play="no-such-play"), 5)


def test_speaker_rules_by_hand() -> None:
    """Each rule on a context whose answer is the middle heading."""
    context = "A:\nOne two three four.\n\nB:\nFive six seven eight.\n\nA:\nNine."
    question = SpeakerQuestion(context, "Five six seven eight.", 24, 25, "x")
    assert question.answer == "B"
    rules = speaker_rules([question])
    assert rules == {"first": 0, "last": 0, "commonest": 0, "above": 1, "drawn": 1 / 3}


def test_no_place_gives_the_speaker_away() -> None:
    """On the test plays, only the heading above the line is much better than a draw."""
    rules = speaker_rules(read_speakers("test", generator=Generator().manual_seed(0)))
    assert rules.pop("above") == 1
    assert max(rules.values()) < rules["drawn"] + 0.1
