# SPDX-License-Identifier: MIT
"""A planted head is found with its size; without one, the search stays inside its null."""

import pytest
import torch
from torch import Generator, Tensor

from pretrain_lab.interpretability.attention_heads import (
    Rows,
    head_scores,
    null_scores,
    reachable,
    relation_mask,
    repeated_rows,
    search_heads,
)


@pytest.fixture
def rows(generator: Generator) -> Rows:
    """Give twelve rows of ten tokens with marks and headings at random places."""
    ids = torch.randint(5, (12, 10), generator=generator)
    marks, headings = torch.rand(2, 12, 10, generator=generator) < 0.3
    return Rows(ids, marks, headings)


def maps_with(
    mask: Tensor, strength: float, generator: Generator, *, causal: bool = False
) -> Tensor:
    """Draw weights (2, B, 3, T, T) at random and plant a relation in layer 2, head 3."""
    scores = torch.randn(2, *mask.shape[:1], 3, *mask.shape[1:], generator=generator)
    scores[1, :, 2] += strength * mask
    hidden = ~reachable(mask.shape[1], causal=causal)
    return scores.masked_fill(hidden, -1e9).softmax(dim=-1)


def test_masks_by_hand() -> None:
    """Four tokens, A B A mark, the second a heading."""
    ids = torch.tensor([[1, 2, 1, 3]])
    rows = Rows(ids, ids == 3, ids == 2)

    def pairs(relation: str, *, causal: bool = False) -> list[list[int]]:
        """List (query, key)."""
        return relation_mask(relation, rows, causal=causal)[0].nonzero().tolist()

    assert pairs("previous") == [[1, 0], [2, 1], [3, 2]]
    assert pairs("next") == [[0, 1], [1, 2], [2, 3]]
    assert pairs("next", causal=True) == []
    assert pairs("first") == [[1, 0], [2, 0], [3, 0]]
    assert pairs("last") == [[0, 3], [1, 3], [2, 3]]
    assert pairs("same") == [[0, 2], [2, 0]]
    assert pairs("same", causal=True) == [[2, 0]]
    assert pairs("mark") == [[0, 3], [1, 3], [2, 3]]
    assert pairs("heading", causal=True) == [[2, 1], [3, 1]]
    with pytest.raises(ValueError, match="expected a relation from"):
        pairs("verb")


def test_induction_reads_behind_the_copy(generator: Generator) -> None:
    """Whoever keeps to it sees, in the second half, the token that comes next."""
    rows = repeated_rows(range(7, 30), 3, 5, generator=generator)
    assert torch.equal(rows.ids[:, :5], rows.ids[:, 5:])
    assert rows.ids.min() >= 7
    mask = relation_mask("induction", rows, causal=True)
    assert mask.any(dim=-1).sum(dim=-1).tolist() == [5, 5, 5]
    for row, query, key in mask.nonzero().tolist():
        following = rows.ids[row, query + 1] if query + 1 < 10 else rows.ids[row, 5]
        assert rows.ids[row, key] == following


def test_scores_are_mean_weights() -> None:
    """Two queries are asked; half and a quarter of their weight falls on the relation."""
    maps = torch.tensor([[0.5, 0.5], [0.25, 0.75]])[None, None, None]
    mask = torch.tensor([[[True, False], [True, False]]])
    assert head_scores(maps, mask).tolist() == [[0.375]]
    with pytest.raises(ValueError, match="at least one query"):
        head_scores(maps, torch.zeros_like(mask))


@pytest.mark.parametrize("relation", ["previous", "same", "mark"])
def test_planted_heads_are_found(rows: Rows, relation: str, generator: Generator) -> None:
    """The right layer and head, a score above the null, the smallest p that the draws allow."""
    mask = relation_mask(relation, rows, causal=False)
    sides = [(rows, maps_with(mask, 4.0, generator)) for _ in range(2)]
    found = search_heads(relation, *sides, causal=False, generator=generator, n_draws=49)
    assert (found.layer, found.head) == (2, 3)
    assert found.score > found.null_high
    assert found.p_value == pytest.approx(1 / 50)


def test_nothing_planted_nothing_found(rows: Rows, generator: Generator) -> None:
    """The best of six random heads is not better than the best of six on permuted relations."""
    mask = relation_mask("same", rows, causal=True)
    p_values = []
    for _ in range(20):
        sides = [(rows, maps_with(mask, 0.0, generator, causal=True)) for _ in range(2)]
        found = search_heads("same", *sides, causal=True, generator=generator, n_draws=19)
        p_values.append(found.p_value)
    assert sum(p <= 0.05 for p in p_values) <= 4  # expected: at most one


def test_a_head_that_reads_marks_anywhere_is_no_discovery(generator: Generator) -> None:
    """Where every row has its marks at the same places, another row's marks fit as well."""
    ids = torch.randint(5, (6, 8), generator=generator)
    marks = (torch.arange(8) % 4 == 3).expand(6, -1)
    rows = Rows(ids, marks, torch.zeros_like(marks))
    mask = relation_mask("mark", rows, causal=False)
    maps = maps_with(mask, 4.0, generator)
    null = null_scores(maps, mask, positional=False, causal=False, n_draws=5, generator=generator)
    assert torch.allclose(null, head_scores(maps, mask).max().expand(5))


def test_null_keeps_the_number_of_queries(rows: Rows, generator: Generator) -> None:
    """Permuted positional relations put uniform weight where uniform attention does."""
    mask = relation_mask("previous", rows, causal=False)
    uniform = torch.full((1, 12, 1, 10, 10), 0.1)
    null = null_scores(uniform, mask, positional=True, causal=False, n_draws=5, generator=generator)
    assert null.tolist() == pytest.approx([0.1] * 5)


def test_one_row_has_no_other_to_take_a_relation_from() -> None:
    """torch's own error about an empty range got out."""
    maps, mask = torch.ones(1, 1, 1, 2, 2) / 2, torch.tensor([[[False, False], [True, False]]])
    with pytest.raises(ValueError, match="two rows or more, got 1, 1 keys and 1 rows"):
        null_scores(
            maps, mask, positional=False, causal=True, n_draws=1, generator=torch.Generator()
        )
