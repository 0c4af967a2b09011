"""The 37 graphs of the NeoSA evaluation by name, each made by a generator of this package.

The published trees, convolutions and systolic products have no input and output nodes of their own: a multiplier
without predecessors takes a stream, a node without successors is a result. Tree leaves and the first column of a
systolic product are therefore inputs that need a multiplier's tile. Where the published convolution has an
input-multiplier and a register, ours has an input and a multiplier: the same shape, and the product is computed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gridloom.compiler.kernels.base import Kernel
from gridloom.compiler.kernels.kmeans import KMEANS
from gridloom.compiler.kernels.linear_algebra import CONVOLUTION, MATMUL, SYSTOLIC_MATMUL
from gridloom.compiler.kernels.trees import MAP_REDUCE, TREE_REDUCE
from gridloom.compiler.parameters import Setting


def fix_parameters(kernel: Kernel, name: str, **settings: Setting) -> Kernel:
    """The kernel with its parameters set, under a name of its own.

    It takes no parameters any more; its summary names the generator and the settings.
    """
    values = kernel.settings(**settings)
    return replace(
        kernel,
        name=name,
        summary=f"{kernel.spec(**settings)} as in the NeoSA evaluation",
        parameters={},
        graph=partial(kernel.graph, **values),
        model=partial(kernel.model, **values),
        feed=partial(kernel.feed, **values) if kernel.feed else None,
        limit=partial(kernel.limit, **values) if kernel.limit else None,
        rule=None,
    )


_TREES = ((15, 1), (31, 1), (63, 1), (127, 1), (15, 2), (31, 2), (63, 2), (15, 3), (31, 3), (15, 4), (31, 4))
_MAP_REDUCE = ((15, 1), (31, 1), (63, 1), (15, 2), (31, 2), (15, 3), (15, 4))
_KMEANS = ((4, 4), (4, 5), (4, 6), (4, 7), (4, 8), (5, 4), (6, 4), (7, 4), (8, 4))


def _graphs() -> dict[str, Kernel]:
    """All graphs by their published names."""
    rows: list[tuple[str, Kernel, dict[str, Setting]]] = []
    rows += [(f"tree_n_{n}_t_{t}", TREE_REDUCE, {"nodes": n, "components": t, "leaves": "mul"}) for n, t in _TREES]
    rows += [(f"matmul{n}{n}", SYSTOLIC_MATMUL, {"n": n}) for n in range(2, 7)]
    rows += [("matmul22normal", MATMUL, {"n": 2})]
    rows += [(f"convolution{k}{k}", CONVOLUTION, {"k": k}) for k in range(2, 6)]
    rows += [(f"tree_n_{n}_t_{t}_r_3", MAP_REDUCE, {"nodes": n, "components": t, "tail": 3}) for n, t in _MAP_REDUCE]
    rows += [(f"K{k}N{n}", KMEANS, {"k": k, "n": n}) for k, n in _KMEANS]
    return {name: fix_parameters(kernel, f"neosa-{name}", **settings) for name, kernel, settings in rows}


#: Published name -> kernel, in the order of the evaluation's table.
GRAPHS = _graphs()


def __getattr__(name: str) -> Kernel:
    # The registry names an attribute for each graph.
    try:
        return GRAPHS[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
