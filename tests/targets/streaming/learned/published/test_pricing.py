"""Prices of whole boards of the published environment."""

import numpy as np

from gridloom.archs import build
from gridloom.dfg.model import DfgBuilder
from gridloom.targets.streaming.learned.published.boards import INCOMPLETE, BoardBatch, BoardOptions, prices
from gridloom.targets.streaming.mappers.problem import build_problem


def _priced(instructions: int) -> float:
    """The price of the only board with a chain of three different ops on a single tile."""
    b = DfgBuilder("chain")
    b.output(b.add("abs", b.add("not", b.add("neg", b.input("x")))), "y")
    problem = build_problem(b.build(), build(f"streaming-engine:1,spokes=3,instructions={instructions}"))
    batch = BoardBatch(problem, 1, BoardOptions(ii=3))
    while batch.running.any():
        batch.step(np.argmax(batch.boards.mask, axis=1).astype(np.int32))
    return float(prices(batch)[0])


def test_a_board_whose_ops_fit_the_instruction_ram_costs_its_cycles() -> None:
    assert 0 < _priced(3) < 100


def test_a_board_with_more_ops_on_a_tile_than_fit_its_instruction_ram_has_no_price() -> None:
    assert _priced(2) == np.float32(INCOMPLETE)
