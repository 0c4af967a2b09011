"""What every mapper promises: the battery that runs over each mapper in the registry, and over any function.

Each check takes a :class:`MapperCase`, a mapper on one kind of array with a small problem of that kind, and raises an
AssertionError that says which promise is broken.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gridloom import registry
from gridloom._version import __version__
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError, MissingExtra, OptionError
from gridloom.flow.inputs import prepare
from gridloom.flow.request import Request
from gridloom.flow.run import run
from gridloom.mapping import json_format
from gridloom.mapping.model import Failure, Mapping
from gridloom.registry import ArrayKind, MapperEntry
from gridloom.registry import Mapper as Declaration
from gridloom.search.budget import Budget, Progress
from gridloom.search.choice import MapperFunction, config_type
from gridloom.search.settings import KEYS
from gridloom.sim import simulate
from gridloom.testing.promises import declare_for_a_while, require
from gridloom.verify import legal

EFFORT = 20_000
SEED = 7
#: SOURCE and ARCH.
Problem = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class MapperCase:
    """A mapper on one kind of array, with what it is asked to map."""

    name: str
    kind: ArrayKind
    problem: Problem
    effort: int = EFFORT
    seed: int = SEED

    @property
    def function(self) -> MapperFunction:
        """The mapper's function for the kind of array."""
        function: MapperFunction = registry.entry("mappers", self.name).load(self.kind)
        return function

    @property
    def by_effort(self) -> Budget:
        """The budget of a run that ends by effort."""
        return Budget(effort=self.effort, seed=self.seed)

    def call(self, budget: Budget, *, on: Problem | None = None) -> Mapping | Failure:
        """Run the mapper with its default settings on the problem, or on another one."""
        dfg, arch = solve_for(on or self.problem)
        return self.function(dfg, arch, config_type(self.function)(), budget)

    def map(self, budget: Budget) -> Mapping:
        """The mapping of the problem; the problem is easy enough that a Failure breaks a promise."""
        found = self.call(budget)
        require(
            isinstance(found, Mapping),
            f"{self.name} finds no mapping of {self.problem[0]} on {self.problem[1]}: {found}",
        )
        assert isinstance(found, Mapping)
        return found


@cache
def solve_for(problem: Problem) -> tuple[Dfg, Arch]:
    """The graph that a mapper gets for a SOURCE and an ARCH, and the array; of a program, that of its first section."""
    prepared = prepare(*problem)
    return prepared.dfg, prepared.arch


def mapper_cases(
    name: str, *, problem: Problem | None = None, effort: int = EFFORT, seed: int = SEED
) -> list[MapperCase]:
    """A registered mapper on each kind of array that it declares; with a problem, on the kind of its array alone."""
    takes = list(registry.entry("mappers", name).takes)
    if problem is not None:
        arch = solve_for(problem)[1]
        takes = [kind for kind in takes if kind.describes(arch)]
        require(bool(takes), f"{name} declares no kind of array that {problem[1]} is of")
    cases = []
    for kind in takes:
        posed = problem or kind.problem
        require(posed is not None, f"nobody declares a problem for {kind.words}: call with problem=(SOURCE, ARCH)")
        assert posed is not None
        cases.append(MapperCase(name=name, kind=kind, problem=posed, effort=effort, seed=seed))
    return cases


def check_mapper(
    mapper: str | MapperFunction, *, effort: int = EFFORT, seed: int = SEED, problem: Problem | None = None
) -> None:
    """Check that a mapper keeps every promise; AssertionError with the first that it breaks.

    ``mapper`` is a name of the registry, or a function ``(dfg, arch, config, budget)``, which is known by its own name
    while the battery runs and needs a ``problem``. ``problem`` is SOURCE and ARCH of a problem that the mapper solves
    with the effort; without it, each kind of array that the mapper declares gives its own. Costs some ten runs of the
    mapper for each kind.
    """
    name = mapper if isinstance(mapper, str) else mapper.__name__
    with (
        nullcontext()
        if isinstance(mapper, str)
        else declare_for_a_while("mappers", name, _declaration(mapper, problem))
    ):
        for case in mapper_cases(name, problem=problem, effort=effort, seed=seed):
            for check in MAPPER_CHECKS.values():
                check(case)


def _declaration(mapper: MapperFunction, problem: Problem | None) -> MapperEntry:
    """The line that declares a function for the kinds of array that its problem's is of."""
    name = mapper.__name__
    require(problem is not None, f"{name} is a function, which declares no arrays: call with problem=(SOURCE, ARCH)")
    assert problem is not None
    arch = solve_for(problem)[1]
    kinds = [kind for kind, record in registry.kinds().items() if record.describes(arch)]
    require(bool(kinds), f"no target declares a kind of array that {problem[1]} is of")
    return MapperEntry((Declaration({kinds[0]: mapper}, "a function under test"),))


# -- the promises -----------------------------------------------------------------------------------------------------


def check_judges(case: MapperCase) -> None:
    """The result is legal and computes what the graph computes."""
    mapping = case.map(case.by_effort)
    violations = list(legal(mapping))
    require(not violations, f"{case.name} returns a mapping that is not legal: {', '.join(map(str, violations[:3]))}")
    verdict = simulate(mapping)
    require(verdict.ok, f"{case.name} returns a mapping that computes something else: {verdict.explain()}")


def check_same_bytes(case: MapperCase) -> None:
    """A run that ends by effort gives the same bytes for the same seed, with one worker and with several."""
    texts = [json_format.dumps(case.map(dataclasses.replace(case.by_effort, workers=count))) for count in (1, 1, 3)]
    require(texts[0] == texts[1], f"{case.name} gives different bytes when it runs twice")
    require(texts[0] == texts[2], f"{case.name} gives different bytes with one worker and with three")


def check_interruption(case: MapperCase) -> None:
    """A run that is interrupted returns the best so far, which is legal, or a Failure; it raises nothing."""
    for after in (0, 4):
        asked = 0

        def interrupted(after: int = after) -> bool:
            nonlocal asked
            asked += 1
            return asked > after

        budget = Budget(time_limit=30, seed=case.seed, interrupted=interrupted)
        try:
            found: object = case.call(budget)
        except MissingExtra:
            raise
        except (Exception, KeyboardInterrupt) as error:
            raise AssertionError(f"{case.name}, interrupted, raises {type(error).__name__}: {error}") from error
        require(asked > 0, f"{case.name} never asks whether it is interrupted")
        if isinstance(found, Mapping):
            require(not list(legal(found)), f"{case.name}, interrupted, returns a mapping that is not legal")
        else:
            require(isinstance(found, Failure), f"{case.name}, interrupted, returns {type(found).__name__}")


def check_refusals(case: MapperCase) -> None:
    """An array or a domain that is not declared is refused in the name of the mapper that was asked."""
    takes = registry.entry("mappers", case.name).takes
    others = [kind for kind in registry.kinds().values() if kind.problem is not None]
    arch = solve_for(case.problem)[1]
    for other in others:
        assert other.problem is not None
        dfg, array = solve_for(other.problem)
        if other not in takes and not case.kind.describes(array):
            refused = _refusal(lambda on=other.problem: case.call(Budget(effort=1), on=on))  # type: ignore[misc]
            require(
                refused.startswith(f"mapper {case.name!r} takes "),
                f"{case.name} refuses {other.words} with: {refused}",
            )
            asked = _refusal(
                lambda dfg=dfg, array=array: run(  # type: ignore[misc]
                    Request(source=dfg, arch=array, mapper=case.name, effort=1)
                )
            )
            require(asked == refused, f"the flow refuses {other.words} for {case.name} with: {asked}")
        if dfg.domain not in case.kind.domains:
            refused = _refusal(
                lambda dfg=dfg: case.function(  # type: ignore[misc]
                    dfg, arch, config_type(case.function)(), Budget(effort=1)
                )
            )
            require(
                refused.startswith(f"mapper {case.name!r} takes graphs of domain "),
                f"{case.name} refuses graphs of domain {dfg.domain} with: {refused}",
            )


def _refusal(ask: Callable[[], object]) -> str:
    """The sentence of an OptionError; what happened instead where there is none."""
    try:
        found = ask()
    except OptionError as error:
        return str(error)
    except MissingExtra:
        raise
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"no refusal but {type(found).__name__}"


def check_provenance(case: MapperCase) -> None:
    """The mapping says who made it, with which settings and seed, and nothing that a clock says unless time was set."""
    name = case.name
    record = case.map(case.by_effort).provenance
    missing = [key for key in KEYS if key not in record]
    require(not missing, f"{name} leaves {', '.join(missing)} out of the provenance")
    found = {key: record[key] for key in ("mapper", "config", "seed", "version")}
    expected = {"mapper": name, "config": {}, "seed": case.seed, "version": __version__}
    require(found == expected, f"{name} says of itself: {found}; expected {expected}")
    require("seconds" not in record, f"{name} writes its seconds into a mapping that was ended by effort")
    timed = case.map(Budget(time_limit=2, seed=case.seed)).provenance
    require(isinstance(timed.get("seconds"), float), f"{name} leaves its seconds out after a run under a time limit")


def check_configuration(case: MapperCase) -> None:
    """The configuration is a frozen, keyword-only dataclass with documented fields, and refuses values in words."""
    config = config_type(case.function)
    require(config.__dataclass_params__.frozen, f"{config.__name__} is not frozen")
    fields = dataclasses.fields(config)
    require(all(field.kw_only for field in fields), f"{config.__name__} takes positional settings")
    undocumented = sorted({field.name for field in fields}.difference(*map(_documented, config.__mro__[:-1])))
    require(not undocumented, f"{config.__name__} says nothing about {', '.join(undocumented)}")
    hints = get_type_hints(config)
    for field in fields:
        _check_setting(config, field.name, hints[field.name])


def _check_setting(config: type[Any], name: str, hint: Any) -> None:
    numeric = {int, float} & {hint, *get_args(hint)}
    for value in [-1] * bool(numeric) + ["no such word"] * (get_origin(hint) is Literal):
        try:
            config(**{name: value})
        except GridloomError:
            continue
        except Exception as error:
            sentence = f"{config.__name__}({name}={value!r}) raises {type(error).__name__}: {error}"
            raise AssertionError(sentence) from error
        require(not isinstance(value, str), f"{config.__name__} takes {name}={value!r}")


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


def check_progress(case: MapperCase) -> None:
    """Progress is reported in the thread that called the mapper."""
    threads: set[int] = set()

    def listen(progress: Progress) -> None:
        require(progress.seconds >= 0, f"{case.name} reports {progress.seconds} seconds")
        threads.add(threading.get_ident())

    case.map(dataclasses.replace(case.by_effort, workers=2, progress=listen))
    require(bool(threads), f"{case.name} reports no progress")
    require(threads == {threading.get_ident()}, f"{case.name} reports its progress from other threads")


def check_documentation(case: MapperCase) -> None:
    """The function has a docstring, and so has its module, which begins with the mapper's name where it is ours."""
    module = inspect.getmodule(case.function)
    require(bool(case.function.__doc__), f"the function of {case.name} has no docstring")
    text = (module.__doc__ if module is not None else None) or ""
    require(bool(text), f"the module of {case.name} has no docstring")
    if module is not None and module.__name__.startswith("gridloom.targets."):
        require(text.startswith(f"``{case.name}``"), f"{module.__name__} does not begin with ``{case.name}``")


#: Promise -> its check.
MAPPER_CHECKS: dict[str, Callable[[MapperCase], None]] = {
    "confirmed": check_judges,
    "same bytes": check_same_bytes,
    "interruption": check_interruption,
    "refusals": check_refusals,
    "provenance": check_provenance,
    "configuration": check_configuration,
    "progress": check_progress,
    "documentation": check_documentation,
}
