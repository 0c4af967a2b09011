"""What every cost model promises: the battery for models that predict how well placements run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridloom import registry
from gridloom.testing.promises import require

#: How much the number of a decision may depend on the batch that it is in: sums in another order.
_ROUNDING = 1e-9


def check_cost_model(name: str, *, sample: Callable[[], Any] | None = None) -> None:
    """Check that a cost model keeps every promise; AssertionError with the first that it breaks.

    It is asked about the decisions of a ``sample``: a record with ``pipeline``, ``decisions`` (with ``only(k)``), and
    the numbers of two decisions, ``better`` and ``worse``. Without one, a target's hook ``cost_samples`` gives it.
    """
    model = registry.load("costs", name)()
    require(model.name == name, f"cost model {name} calls itself {model.name!r}")
    given = (sample or _declared_sample())()
    found = np.asarray(model.efficiency(given.pipeline, given.decisions))
    count = len(given.decisions)
    require(found.shape == (count,), f"{name} gives numbers of shape {found.shape} for {count} decisions")
    require(bool(np.isfinite(found).all()), f"{name} gives a number that is not finite")
    require(bool((found >= 0).all()), f"{name} predicts an efficiency below 0")
    again = np.asarray(model.efficiency(given.pipeline, given.decisions))
    require(bool((found == again).all()), f"{name} gives other numbers when it is asked twice")
    fresh = np.asarray(registry.load("costs", name)().efficiency(given.pipeline, given.decisions))
    require(bool((found == fresh).all()), f"{name} gives other numbers when it is made again")
    for k in range(count):
        (single,) = model.efficiency(given.pipeline, given.decisions.only(k))
        near = abs(float(single) - float(found[k])) <= _ROUNDING * max(1.0, abs(float(found[k])))
        require(near, f"{name} gives decision {k} the number {single} alone and {found[k]} in a batch")
    better, worse = float(found[given.better]), float(found[given.worse])
    require(better >= worse, f"{name} ranks a placement with short routes below one with long ones: {better} < {worse}")


def _declared_sample() -> Callable[[], Any]:
    """The sample that a target declares."""
    for record in registry.kinds().values():
        for trait in record.traits:
            found: Callable[[], Any] | None = registry.hook("cost_samples", trait)
            if found is not None:
                return found
    raise AssertionError("no target declares a sample for cost models: call with sample=FUNCTION")
