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

    A label that no exercise has is named in one line, with those that are spelt like it.

    Args:
        exercise: Label of the exercise, such as ``"ex-gpt-topp"``.
        answer: What the exercise asks for: a number, a list, a word, a function, or a dict of
            such parts. Three dots stand for an answer that is not given yet.
    """
    try:
        checker = find_checker(exercise)
    except ValueError as error:
        print(f"There is {error}")
    else:
        print(checker.grade(answer))
