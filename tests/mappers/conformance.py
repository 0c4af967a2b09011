"""What every mapper promises, as checks over its declaration in the registry.

Each check takes a mapper's name and a kind of array that it declares, runs it on a small problem of that kind and
raises an AssertionError that says what was promised. `test_conformance.py` runs all checks over the whole registry,
`test_planted_faults.py` shows that they catch mappers that break a promise.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from gridloom import registry
from gridloom._version import __version__
from gridloom.archs import Arch, build
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError, MissingExtra, OptionError
from gridloom.flow import Request, run
from gridloom.flow.inputs import prepare
from gridloom.mappers.budget import Budget, Progress
from gridloom.mappers.choice import config_type
from gridloom.mappers.origin import KEYS
from gridloom.mapping import json_format
from gridloom.mapping.model import Failure, Mapping
from gridloom.registry import CROSSBARS, GRID, REGISTERS, ROWS, SPOKES, SWITCHES, ArrayKind
from gridloom.sim import simulate
from gridloom.verify import legal

#: A small problem for each kind of array: one that every mapper for such arrays solves within `EFFORT`.
PROBLEMS: dict[ArrayKind, tuple[str, str]] = {
    GRID: ("kernel:tree_reduce,nodes=7", "mesh:4x4"),
    REGISTERS: ("kernel:vector_add", "torus:3x3,regs=4"),
    CROSSBARS: ("kernel:vector_add", "hycube:3x3"),
    ROWS: ("kernel:vector_add", "vpcma:3x4"),
    SPOKES: ("kernel:vector_add", "streaming-engine:8"),
    SWITCHES: ("gemm", "rdu:4x4"),
}

EFFORT = 20_000
SEED = 7


def cases() -> list[tuple[str, ArrayKind]]:
    """Every mapper with every kind of array that it declares."""
    return [(name, kind) for name in registry.names("mappers") for kind in registry.entry("mappers", name).takes]


@cache
def problem(kind: ArrayKind) -> tuple[Dfg, Arch]:
    """The graph and the array of a kind's small problem."""
    source, array = PROBLEMS[kind]
    arch = build(array)
    if kind is not SWITCHES:
        return prepare(source, arch).dfg, arch
    from gridloom.transform.lower_tensor import lower

    return lower(registry.load("networks", source).build(inner=64, columns=64), arch).sections[0].dfg, arch


def function(name: str, kind: ArrayKind) -> Callable[..., Mapping | Failure]:
    """The mapper's function for a kind of array."""
    return registry.entry("mappers", name).load(kind)  # type: ignore[no-any-return]


def call(
    name: str, kind: ArrayKind, budget: Budget, *, on: ArrayKind | None = None, **settings: Any
) -> Mapping | Failure:
    """Run a mapper's function on the small problem of a kind; skip the test where its extra is not installed."""
    mapper = function(name, kind)
    dfg, arch = problem(on or kind)
    try:
        return mapper(dfg, arch, config_type(mapper)(), budget)
    except MissingExtra as missing:
        pytest.skip(str(missing))


def mapped(name: str, kind: ArrayKind, budget: Budget) -> Mapping:
    """The mapping of the small problem; the problems are easy enough that a Failure breaks a promise."""
    result = call(name, kind, budget)
    assert isinstance(result, Mapping), f"{name} finds no mapping of a small problem on {kind.words}: {result}"
    return result


# -- the promises -----------------------------------------------------------------------------------------------------


def check_result_is_confirmed(name: str, kind: ArrayKind) -> None:
    """The result is legal and computes what the graph computes."""
    mapping = mapped(name, kind, Budget(effort=EFFORT, seed=SEED))
    assert list(legal(mapping)) == [], f"{name} returns a mapping that is not legal"
    assert simulate(mapping).ok, f"{name} returns a mapping that computes something else"


def check_same_bytes(name: str, kind: ArrayKind) -> None:
    """A run that ends by effort gives the same bytes for the same seed, with one worker and with several."""
    texts = [
        json_format.dumps(mapped(name, kind, Budget(effort=EFFORT, seed=SEED, workers=workers)))
        for workers in (1, 1, 3)
    ]
    assert texts[0] == texts[1], f"{name} gives different bytes when it runs twice"
    assert texts[0] == texts[2], f"{name} gives different bytes with one worker and with three"


def check_interruption_returns(name: str, kind: ArrayKind, after: int) -> None:
    """A run that is interrupted returns the best so far, which is legal, or a Failure; it raises nothing."""
    asked = 0

    def interrupted() -> bool:
        nonlocal asked
        asked += 1
        return asked > after

    result = call(name, kind, Budget(time_limit=30, seed=SEED, interrupted=interrupted))
    if isinstance(result, Mapping):
        assert list(legal(result)) == [], f"{name}, interrupted, returns a mapping that is not legal"
    else:
        assert isinstance(result, Failure), f"{name}, interrupted, returns {type(result).__name__}"


def check_refusals(name: str, kind: ArrayKind) -> None:
    """An array or a domain that is not declared is refused in the name of the mapper that was asked."""
    declared = registry.entry("mappers", name).takes
    for other in PROBLEMS:
        if other in declared:
            continue
        direct = _refusal(lambda other=other: call(name, kind, Budget(effort=1), on=other))  # type: ignore[misc]
        assert direct.startswith(f"mapper {name!r} takes "), f"{name} refuses {other.words} with: {direct}"
        dfg, arch = problem(other)
        asked = _refusal(lambda d=dfg, a=arch: run(Request(source=d, arch=a, mapper=name, effort=1)))  # type: ignore[misc]
        assert asked == direct, f"the flow refuses for {name} with: {asked}"
    foreign = problem(SWITCHES if kind is not SWITCHES else GRID)[0]
    mapper = function(name, kind)
    message = _refusal(lambda: mapper(foreign, problem(kind)[1], config_type(mapper)(), Budget(effort=1)))
    assert message.startswith(f"mapper {name!r} takes graphs of domain "), f"{name} refuses a domain with: {message}"


def _refusal(ask: Callable[[], object]) -> str:
    try:
        result = ask()
    except OptionError as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"no refusal but {type(result).__name__}"


def check_provenance(name: str, kind: ArrayKind) -> None:
    """The mapping says who made it, with which settings and seed, and nothing that a clock says unless time was set."""
    by_effort = mapped(name, kind, Budget(effort=EFFORT, seed=SEED)).provenance
    missing = [key for key in KEYS if key not in by_effort]
    assert not missing, f"{name} leaves {', '.join(missing)} out of the provenance"
    told = {key: by_effort[key] for key in ("mapper", "config", "seed", "version")}
    assert told == {"mapper": name, "config": {}, "seed": SEED, "version": __version__}, (
        f"{name} says of itself: {told}"
    )
    assert "seconds" not in by_effort, f"{name} writes its seconds into a mapping that was ended by effort"
    by_time = mapped(name, kind, Budget(time_limit=2, seed=SEED)).provenance
    assert isinstance(by_time.get("seconds"), float), f"{name} leaves its seconds out after a run under a time limit"


def check_configuration(name: str, kind: ArrayKind) -> None:
    """The configuration is a frozen, keyword-only dataclass with documented fields, and refuses values in words."""
    config = config_type(function(name, kind))
    assert config.__dataclass_params__.frozen, f"{config.__name__} is not frozen"
    fields = dataclasses.fields(config)
    assert all(field.kw_only for field in fields), f"{config.__name__} takes positional settings"
    undocumented = sorted({field.name for field in fields}.difference(*map(_documented, config.__mro__[:-1])))
    assert not undocumented, f"{config.__name__} says nothing about {', '.join(undocumented)}"
    hints = get_type_hints(config)
    for field in fields:
        hint = hints[field.name]
        numeric = {int, float} & {hint, *get_args(hint)}
        for value in [-1] * bool(numeric) + ["no such word"] * (get_origin(hint) is Literal):
            try:
                config(**{field.name: value})
            except GridloomError:
                continue
            except Exception as error:
                pytest.fail(f"{config.__name__}({field.name}={value!r}) raises {type(error).__name__}: {error}")
            assert not isinstance(value, str), f"{config.__name__} takes {field.name}={value!r}"


def _documented(config: type[Any]) -> set[str]:
    """Fields with a ``#:`` comment above them, alone or as the first of several lines that share one."""
    lines = inspect.getsource(config).splitlines()
    (body,) = (node for node in ast.parse(inspect.cleandoc("\n".join(lines))).body if isinstance(node, ast.ClassDef))
    documented: set[str] = set()
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            above = lines[node.lineno - 2].strip()
            if above.startswith("#:") or any(above.startswith(f"{name}:") for name in documented):
                documented.add(node.target.id)
    return documented


def check_progress(name: str, kind: ArrayKind) -> None:
    """Progress is told in the thread that called the mapper."""
    threads: set[int] = set()

    def listen(progress: Progress) -> None:
        assert progress.seconds >= 0
        threads.add(threading.get_ident())

    mapped(name, kind, Budget(effort=EFFORT, seed=SEED, workers=2, progress=listen))
    assert threads == {threading.get_ident()}, f"{name} tells its progress {'elsewhere' if threads else 'never'}"


def check_documentation(name: str, kind: ArrayKind) -> None:
    """The function and its module say what they are; the module's first words are the mapper's name."""
    mapper = function(name, kind)
    module = inspect.getmodule(mapper)
    assert module is not None
    assert mapper.__doc__, f"the function of {name} has no docstring"
    assert (module.__doc__ or "").startswith(f"``{name}``"), f"{module.__name__} does not begin with ``{name}``"
