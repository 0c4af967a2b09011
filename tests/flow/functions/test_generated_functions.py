"""Random whole functions compute on the array and its host what they compute as native code."""

from __future__ import annotations

import pytest
from tests.flow.functions.differential import check
from tests.flow.functions.generated_functions import FunctionWriter

pytestmark = pytest.mark.tools


@pytest.fixture(autouse=True)
def compiler() -> None:
    from gridloom.compiler.ir.driver import find_compiler
    from gridloom.errors import MissingExtra

    pytest.importorskip("llvmlite")
    try:
        find_compiler()
    except MissingExtra as error:
        pytest.skip(str(error))


def test_a_seed_writes_the_same_function_each_time():
    assert FunctionWriter(7, "f").text() == FunctionWriter(7, "f").text()


@pytest.mark.parametrize(
    "word", ["while (", "do {", "break;", "continue;", "return ", "switch", "int64_t", "_part(h, n)", "} else {"]
)
def test_the_generator_writes_every_kind_of_statement(word: str):
    texts = [FunctionWriter(seed, "f").text().partition("int64_t z")[2] for seed in range(200)]
    assert sum(word in text for text in texts) >= 5


def test_some_functions_equal_native_code():
    tally = check(0, 5, data_sets=1, effort=500)
    assert tally.different == {} and tally.refused == {}
    assert tally.equal == 5 and tally.mapped > 0 and tally.simulated > 0


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 1000, 50))
def test_a_thousand_functions_equal_native_code(first: int):
    tally = check(first, 50)
    assert tally.different == {}
    assert len(tally.refused) <= 2, tally.refused
    assert all(reason.strip() for reason in tally.refused.values())
    assert tally.equal + len(tally.refused) == 50
