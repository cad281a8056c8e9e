# SPDX-License-Identifier: MIT
"""Reader's notebooks: each chapter as a notebook that reads well in any Jupyter.

The committed notebooks are the book's source: their text holds roles and directives that only the
build understands. A build writes a second set, with the numbers filled in, references as "Figure
4.2", quizzes and solutions that fold, and no proof cells. :mod:`.labels` takes the numbers from the
build, :mod:`.plain_markdown` turns the book's Markdown into plain Markdown, :mod:`.reader` makes
the notebooks. Buttons above a page lead to them.
"""
