"""Saved mappings that are changed at random are refused in words, or they compute what their graph computes."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from tests.fuzz.mappings import bases, judge, mutated


def verdicts(first: int, count: int, per_style: int) -> Counter[str]:
    """What became of so many changed mappings; each number is a seed and chooses its mapping."""
    texts = bases(per_style)
    found: Counter[str] = Counter()
    for k in range(first, first + count):
        data = mutated(texts[k % len(texts)], random.Random(k))
        try:
            found[judge(data)] += 1
        except Exception as error:
            raise AssertionError(f"mapping {k % len(texts)} of bases({per_style}), seed {k}: {error!r}") from error
    return found


def test_unchanged_mappings_are_accepted() -> None:
    import json

    assert {judge(json.loads(text)) for text in bases(2)} == {"accepted"}


def test_two_hundred_changed_mappings_are_refused_or_compute_their_graph() -> None:
    found = verdicts(0, 200, 2)
    assert found["checker"] > 20
    assert found["refused"] > 5
    assert found["accepted"] > 5


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_twenty_thousand_changed_mappings_are_refused_or_compute_their_graph(part: int) -> None:
    found = verdicts(1000 + 5000 * part, 5000, 12)
    assert sum(found.values()) == 5000
    assert found["accepted"] > 200
