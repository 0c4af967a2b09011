"""The space of an exploration, as data: kernels, an array with parameters, a mapper, objectives and constraints.

    explore: fifo-depth
    kernels: ["kernel:kmeans,k=2,n=3", "suite:smoke", "graphs/*.dot"]
    array: "{topology}:{side}x{side},fifo={fifo}"
    parameters:
      topology: [mesh, chess]
      side: {from: 6, to: 8}
      fifo: [0, 1, 2]
    budget: {effort: 20000}
    search: {method: grid}
    objectives: [mapped, area]
    constraints: ["mapped >= 0.9"]

``{name}`` in ``array``, ``mapper`` and ``settings`` stands for a parameter's value; an array may also be a dictionary
(family, rows, ...) whose values use parameters. A parameter is a list of values or a range.

A space is validated when it is made: unknown keys, parameters that nothing uses, templates without a parameter and
constraints that cannot be read are OptionErrors that name the key. Points are made one by one when they are asked for,
so that a random search of a grid of any size costs nothing for the points it leaves out.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from gridloom.errors import OptionError
from gridloom.text_file import is_file
from gridloom.yaml_text import parse_yaml, read_yaml_file

Value = bool | int | float | str | None
Method = Literal["grid", "random", "tpe", "nsga2", "ranked"]
Goal = Literal["points", "buffers", "merged"]

#: Objective -> whether more is better.
OBJECTIVES: Final[Mapping[str, bool]] = {
    "mapped": True, "throughput": True, "occupancy": True, "gops": True, "mhz": True,
    "ii": False, "latency": False, "fifo_max": False, "fifo_total": False, "wirelength": False, "tiles": False,
    "area": False, "levels": False, "cycles": False, "energy": False, "luts": False, "ns": False,
}  # fmt: skip
_PLACE: Final = re.compile(r"\{(\w+)\}")
_CONSTRAINT: Final = re.compile(r"^\s*(\w+)\s*(<=|>=|==|<|>)\s*([-+0-9.eE]+)\s*$")
_LARGEST_GRID: Final = 1_000_000


class _Strict(BaseModel):
    """The base of all records here: no unknown keys, and no change after it is made."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Range(_Strict):
    """Numbers from ``from`` to ``to``, both included."""

    low: int = Field(alias="from")
    high: int = Field(alias="to")
    step: int = Field(default=1, ge=1)

    def values(self) -> tuple[Value, ...]:
        """Return every number of the range.

        >>> Range(low=2, high=8, step=3).values()
        (2, 5, 8)
        """
        return tuple(range(self.low, self.high + 1, self.step))


class PointBudget(_Strict):
    """How much effort or time one mapping may cost."""

    effort: int | None = Field(default=None, ge=1)
    most_effort: int | None = Field(default=None, ge=1)
    """Double the effort up to this one until the result stops changing."""
    time_limit: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _effort_has_a_beginning(self) -> PointBudget:
        """Refuse an effort to end at without one to begin with."""
        if self.most_effort is not None and self.most_effort < (self.effort or self.most_effort + 1):
            raise ValueError("most_effort needs an effort below it to begin with")
        return self


class PointSearch(_Strict):
    """Which points are evaluated."""

    method: Method = "grid"
    points: int | None = Field(default=None, ge=1)
    seed: int = Field(default=0, ge=0)
    batch: int = Field(default=8, ge=1)
    """Points that an optimiser proposes before it gets their results; the same for any number of workers."""

    @model_validator(mode="after")
    def _points_are_needed(self) -> PointSearch:
        """Refuse a random or optimised search that does not say how many points it may look at."""
        if self.method != "grid" and self.points is None:
            raise ValueError(f"method {self.method} needs 'points': how many to look at")
        return self


class Skip(_Strict):
    """Kernels that an estimator thinks hopeless on a point are skipped, except a sample that measures the error."""

    by: Literal["bounds", "mappability", "ii"]
    below: float = Field(default=0.05, ge=0, le=1)
    sample: float = Field(default=0.1, ge=0, le=1)
    most: int | None = Field(default=None, ge=1)
    """With ``by: ii``: the II that a kernel has to reach on a modulo-scheduled array."""

    @model_validator(mode="after")
    def _limit_is_needed(self) -> Skip:
        """Refuse ``ii`` without a limit, and a limit that nothing asks for."""
        if (self.by == "ii") != (self.most is not None):
            raise ValueError("by: ii needs 'most', the highest II that is of use, and nothing else takes it")
        return self


@dataclass(frozen=True, slots=True)
class Constraint:
    """``name relation value`` over the objectives of a point."""

    name: str
    relation: str
    value: float

    def excess(self, figure: float | None) -> float:
        """Return how far a figure is from meeting the constraint; 0 when it does.

        A missing figure is infinitely far.

        >>> limit = Constraint("mapped", ">=", 0.75)
        >>> limit.excess(1.0), limit.excess(0.5), limit.excess(None)
        (0.0, 0.25, inf)
        """
        if figure is None:
            return math.inf
        gap = {
            "<=": figure - self.value, "<": figure - self.value, ">=": self.value - figure,
            ">": self.value - figure, "==": abs(figure - self.value),
        }[self.relation]  # fmt: skip
        strict = self.relation in "<>" and gap == 0
        return max(gap, 0.0) or (1e-9 if strict else 0.0)

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {self.value:g}"


class Space(_Strict):
    """An exploration as data. :func:`parse_space` makes one from YAML.

    The product of the parameters' values is the grid; a point picks one value of each. Whether a point describes an
    array that exists is found out when it is evaluated.
    """

    explore: str = "exploration"
    summary: str = ""
    find: Goal = "points"
    """``points``: compare arrays; ``buffers``: the FIFO map of one array; ``merged``: the smallest array for all."""
    kernels: tuple[str, ...] = Field(min_length=1)
    array: str | dict[str, Any]
    parameters: dict[str, tuple[Value, ...] | Range] = Field(default_factory=dict)
    mapper: str = "auto"
    settings: dict[str, Any] = Field(default_factory=dict)
    budget: PointBudget = PointBudget()
    seeds: tuple[int, ...] = Field(default=(0,), min_length=1)
    search: PointSearch = PointSearch()
    objectives: tuple[str, ...] = Field(default=("mapped", "area"), min_length=1)
    constraints: tuple[str, ...] = ()
    skip: Skip | None = None
    weights: str | None = None
    """Weights of the estimator that ``skip`` and ``method: ranked`` ask, in place of the shipped ones."""
    iterations: int = Field(default=1000, ge=1)
    """How many iterations of a loop ``cycles`` and ``energy`` are counted for."""
    width: int = Field(default=32, ge=2, le=32)
    """How many bits a word has, for ``area``."""

    @field_validator("objectives")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse objectives that do not exist."""
        for name in names:
            if name not in OBJECTIVES:
                raise ValueError(f"{name!r} is no objective; known: {', '.join(OBJECTIVES)}")
        return names

    @field_validator("constraints")
    @classmethod
    def _readable(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse constraints that cannot be read."""
        for text in texts:
            _constraint(text)
        return texts

    @model_validator(mode="after")
    def _parameters_meet(self) -> Space:
        """Refuse a parameter that no template uses, and a template whose ``{name}`` is no parameter."""
        used = {name for text in _texts([self.array, self.mapper, self.settings]) for name in _PLACE.findall(text)}
        for name in used - set(self.parameters):
            raise ValueError(f"{{{name}}} is used, but there is no parameter of that name")
        for name in set(self.parameters) - used:
            raise ValueError(f"parameter {name!r} is not used in array, mapper or settings")
        if self.find != "points" and self.parameters:
            raise ValueError(f"find: {self.find} searches one array; it takes no parameters")
        for name in self.parameters:
            if not self.values(name):
                raise ValueError(f"parameter {name!r} has no values")
        return self

    def values(self, name: str) -> tuple[Value, ...]:
        """Return the values of a parameter, in the order of the file."""
        values = self.parameters[name]
        return values.values() if isinstance(values, Range) else values

    @property
    def size(self) -> int:
        """How many points the whole grid has."""
        return math.prod(len(self.values(name)) for name in self.parameters)

    @property
    def limits(self) -> tuple[Constraint, ...]:
        """The constraints in parsed form."""
        return tuple(_constraint(text) for text in self.constraints)

    def grid(self) -> Iterator[Point]:
        """Yield every point; the last parameter changes fastest."""
        names = list(self.parameters)
        for values in itertools.product(*(self.values(name) for name in names)):
            yield self.point(dict(zip(names, values)))

    def at(self, index: int) -> Point:
        """Return the point of the grid with that index, without making the points before it.

        An index counts as in :meth:`grid`, with the last parameter changing fastest.

        >>> space = Space(kernels=("kernel:fir",), array="mesh:{side}x{side},fifo={fifo}",
        ...               parameters={"side": (4, 5), "fifo": (0, 1, 2)})
        >>> space.size, space.at(4).name
        (6, 'side 5, fifo 1')
        """
        chosen: dict[str, Value] = {}
        for name in reversed(list(self.parameters)):
            index, k = divmod(index, len(self.values(name)))
            chosen[name] = self.values(name)[k]
        return self.point({name: chosen[name] for name in self.parameters})

    def point(self, values: Mapping[str, Value]) -> Point:
        """Return the point with these values of the parameters."""
        array = _filled(self.array, values)
        return Point(
            values=dict(values),
            array=array,
            mapper=str(_filled(self.mapper, values)),
            settings={key: _filled(value, values) for key, value in self.settings.items()},
        )


@dataclass(frozen=True)
class Point:
    """One choice of the parameters, with the array, mapper and settings that it stands for."""

    values: Mapping[str, Value]
    array: str | Mapping[str, Any]
    mapper: str
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The values of the parameters in words."""
        return ", ".join(f"{key} {_word(value)}" for key, value in self.values.items()) or "the array"


def read_space(path: Path) -> Space:
    """Return the space of a YAML file; OptionError names the key, what was found and what was expected.

    An ``array`` that names a YAML file with parameters in it, beside this one, stands for that description.
    """
    return parse_space(read_yaml_file(path), str(path), path.parent)


def parse_space(text: str, where: str, folder: Path | None = None) -> Space:
    """Return the space of a YAML text; OptionError names the key, what was found and what was expected."""
    data = parse_yaml(text, where)
    if folder is not None and str(data.get("array", "")).endswith((".yaml", ".yml")):
        data["array"] = _described(folder / data["array"], data["array"])
    try:
        space = Space.model_validate(data)
    except ValidationError as error:
        raise OptionError(_first_error(error), where=where) from None
    # The other methods never list the grid.
    if space.search.method == "grid" and space.size > _LARGEST_GRID:
        raise OptionError(
            f"the grid has {space.size:,} points, more than {_LARGEST_GRID:,}; use method random, tpe or nsga2",
            where=where,
        )
    return space


def _described(path: Path, named: str) -> Any:
    """The description in an array's file where it has parameters; otherwise the name of the file as it is."""
    if not is_file(path):
        return named
    described = parse_yaml(read_yaml_file(path), str(path))
    return described if any(_PLACE.search(text) for text in _texts(described)) else named


def _first_error(error: ValidationError) -> str:
    """The first error of a validation as a sentence."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"] if part not in ("Range", "tuple[nullable[union[...]],...]"))
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        known = ", ".join(Space.model_fields)
        message = f"not a known key; known: {known}" if len(first["loc"]) == 1 else "not a known key"
    elif first["type"] != "value_error":
        message = f"{message[0].lower()}{message[1:]}, found {first['input']!r}"
    return f"{place}: {message}" if place else message


def _constraint(text: str) -> Constraint:
    """The constraint of a text; ValueError where it is none."""
    match = _CONSTRAINT.match(text)
    if match is None or match.group(1) not in OBJECTIVES:
        raise ValueError(f"expected OBJECTIVE <= NUMBER (or >=, ==, <, >), found {text!r}")
    return Constraint(match.group(1), match.group(2), float(match.group(3)))


def _texts(value: Any) -> Iterator[str]:
    """All texts within nested data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts(item)


def _filled(value: Any, chosen: Mapping[str, Value]) -> Any:
    """A template with the values filled in; a text that consists of one ``{name}`` alone keeps the value's type.

    >>> _filled({"rows": "{side}", "name": "a{side}"}, {"side": 4})
    {'rows': 4, 'name': 'a4'}
    """
    if isinstance(value, str):
        whole = _PLACE.fullmatch(value)
        return chosen[whole.group(1)] if whole else _PLACE.sub(lambda m: _word(chosen[m.group(1)]), value)
    if isinstance(value, Mapping):
        return {key: _filled(item, chosen) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(item, chosen) for item in value]
    return value


def _word(value: Value) -> str:
    """Return a value as an ARCH string has it."""
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
