"""Rows as flat arrays."""

from __future__ import annotations

import numpy as np

from gridloom.search.arrays import csr, csr64, csr_of_pairs


def test_rows_are_found_between_their_starts():
    starts, values = csr([[3, 1], [], [2]])
    assert starts.tolist() == [0, 2, 2, 3]
    assert values.tolist() == [3, 1, 2]
    assert starts.dtype == values.dtype == np.int32
    assert csr64([[1]])[1].dtype == np.int64


def test_no_rows_have_one_start_and_no_values():
    starts, values = csr([])
    assert starts.tolist() == [0]
    assert len(values) == 0


def test_pairs_keep_their_order_within_a_row():
    starts, values = csr_of_pairs(3, [(2, 7), (0, 5), (2, 6)])
    assert starts.tolist() == [0, 1, 1, 3]
    assert values.tolist() == [5, 7, 6]
