"""``gridloom estimate`` says how wide a graph is, or which II a loop reaches, without mapping it.

The estimate is made twice and timed the second time, when the network's weights are loaded and its kernels compiled;
the time that is printed is what an estimate costs inside a search.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gridloom.cli.options import AsJson, AssumeRange, EstimatedArch, Estimator, Quiet, Source, Weights

if TYPE_CHECKING:
    from gridloom.archs.model import Arch
    from gridloom.dfg.model import Dfg


def estimate(
    *,
    source: Source,
    arch: EstimatedArch,
    estimator: Estimator = "auto",
    weights: Weights = None,
    assume_range: AssumeRange = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Estimate what a mapper would find, in milliseconds and without mapping.

    On arrays with ports in their columns: whether the graph fits, and how many columns it needs. On modulo-scheduled
    arrays: which II the loop is likely to reach. The exit status is 1 when the graph is not expected to fit.
    """
    from gridloom import registry
    from gridloom.compiler.loops.spec import with_options
    from gridloom.errors import OptionError
    from gridloom.flow.inputs import prepare, read_arch
    from gridloom.partition.width_estimate import check_columns

    if estimator not in ("auto", "learned", "bound"):
        raise OptionError(f"expected auto, learned or bound; found {estimator!r}", where="--estimator")
    if weights is not None and estimator == "bound":
        raise OptionError("counting has no weights", where="--weights")
    array = read_arch(arch)
    target = registry.hook_for("estimates", array)
    (check_columns if target is None else target.check)(array)
    if target is None:
        raise OptionError(f"no target that is installed estimates for array {array.name!r}", where="--arch")
    dfg = prepare(with_options(source, ranges=assume_range or []), array).dfg
    judge = target.judge(estimator, dfg, array, weights)
    found, milliseconds = _timed(judge, dfg, array)
    figures = target.record(found, dfg, array)
    record = {
        "dfg": figures.pop("dfg"),
        "arch": {"name": array.name, "rows": array.rows, "cols": array.cols},
        "estimator": judge.name,
        **figures,
        "milliseconds": milliseconds,
    }
    print(json.dumps(record) if as_json else target.text(record, array))
    return 0 if record["mappable"] else 1


def _timed(judge: Any, dfg: Dfg, array: Arch) -> tuple[Any, float]:
    """An estimate and the CPU milliseconds that it takes once weights are loaded and kernels compiled."""
    import time

    judge.estimate(dfg, array)
    began = time.process_time()
    found = judge.estimate(dfg, array)
    return found, round(1000 * (time.process_time() - began), 3)
