# SPDX-License-Identifier: MIT
"""Check an answer to an exercise of the book.

Each exercise ends with a cell such as ``check("ex-gpt-topp", ...)``. Put the answer in place of
the three dots and run it: a right answer is confirmed, and a common mistake is named. The
checkers stand in :mod:`pretrain_book.exercises`; whoever wants to find the answer alone should not
read them.
"""

from pretrain_book.exercises.grader import find_checker


def check(exercise: str, answer: object) -> None:
    """Print whether an answer is right, or which mistake it looks like.

    Args:
        exercise: Label of the exercise, such as ``"ex-gpt-topp"``.
        answer: What the exercise asks for: a number, a list, a word, a function, or a dict of
            such parts. Three dots stand for an answer that is not given yet.

    Raises:
        ValueError: No exercise has this label.
    """
    print(find_checker(exercise).grade(answer))
