"""Sorting networks sort every row of zeros and ones, which is enough for them to sort everything."""

from __future__ import annotations

from itertools import product

import pytest

from gridloom.compiler.kernels.sorting import odd_even_merge, transposition


@pytest.mark.parametrize("network", [odd_even_merge, transposition])
@pytest.mark.parametrize("n", range(2, 11))
def test_network_sorts_all_rows_of_zeros_and_ones(network, n: int) -> None:  # type: ignore[no-untyped-def]
    pairs = network(n)
    for row in product((0, 1), repeat=n):
        values = list(row)
        for low, high in pairs:
            assert low < high
            values[low], values[high] = min(values[low], values[high]), max(values[low], values[high])
        assert values == sorted(values)


def test_merge_sort_of_eight_values_has_nineteen_comparators() -> None:
    assert len(odd_even_merge(8)) == 19
