"""Every cost model in the registry keeps what cost models promise."""

from __future__ import annotations

import pytest

from gridloom import registry
from gridloom.errors import MissingExtra
from gridloom.testing import check_cost_model


@pytest.mark.parametrize("name", registry.names("costs"))
def test_cost_model_keeps_its_promises(name: str) -> None:
    try:
        check_cost_model(name)
    except MissingExtra as missing:
        pytest.skip(str(missing))


def test_sample_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "kinds", dict)
    with pytest.raises(AssertionError, match="no target declares a sample for cost models"):
        check_cost_model("wirelength")
