"""What a user asks of a suite in the place of its own mapper, arrays, seeds and budget."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gridloom.errors import OptionError
from gridloom.flow.bench.suite import Suite, SuiteGroup
from gridloom.flow.options import parse_settings
from gridloom.flow.request import limit_seconds
from gridloom.search.choice import MapperFunction, mapper_name


@dataclass(frozen=True, kw_only=True)
class SuiteChoice:
    """Mappers to compare, arrays, seeds and a budget; what is empty or None stays as the suite has it."""

    #: Names and functions; ``ramp:without=memory`` is ``ramp`` with that setting.
    mappers: Sequence[str | MapperFunction] = ()
    #: Arrays of the suite narrow it; others take the place of its arrays.
    archs: Sequence[str] = ()
    seeds: Sequence[int] = ()
    effort: int | None = None
    time_limit: float | None = None
    cpu_limit: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def apply(self, suite: Suite) -> list[tuple[str, Suite]]:
        """Return the suite for each mapper, with the name that its rows bear; OptionError for two of one name."""
        own = {arch for group in suite.groups for arch in group.archs}
        suite = on_arrays(suite, self.archs) if set(self.archs) - own else select_cells(suite, archs=self.archs)
        suite = select_cells(suite, seeds=self.seeds)
        if self.effort is not None:
            suite = replace(suite, effort=self.effort)
        limits = limit_seconds(self.time_limit, self.cpu_limit)
        if limits["time_limit"] is not None:
            suite = replace(suite, **limits)
        suite = replace(suite, settings={**suite.settings, **self.settings})
        chosen = [_of_mapper(suite, mapper) for mapper in self.mappers or [suite.mapper]]
        names = [name for name, _ in chosen]
        for name in names:
            if names.count(name) > 1:
                raise OptionError(f"two mappers are called {name!r}; give each a name of its own", where="mapper")
        return chosen


def _of_mapper(suite: Suite, mapper: str | MapperFunction) -> tuple[str, Suite]:
    """Return the suite with a mapper, and settings that its name gives."""
    name, *pairs = mapper.split(":") if isinstance(mapper, str) else (mapper,)
    settings = {**suite.settings, **parse_settings(str(pair) for pair in pairs)}
    return mapper_name(mapper), replace(suite, mapper=name, settings=settings)


def select_cells(suite: Suite, *, archs: Sequence[str] = (), seeds: Sequence[int] = ()) -> Suite:
    """Return the suite on some of its arrays, or with other seeds; nothing given: as it is.

    OptionError for an array that the suite does not have.
    """
    known = list(dict.fromkeys(arch for group in suite.groups for arch in group.archs))
    for arch in archs:
        if arch not in known:
            raise OptionError(f"suite {suite.name!r} has no array {arch!r}; it has: {', '.join(known)}", where="--arch")
    groups = [
        replace(group, archs=tuple(arch for arch in group.archs if not archs or arch in archs))
        for group in suite.groups
    ]
    kept = tuple(group for group in groups if group.archs)
    expected = suite.expected if not (archs or seeds) else replace(suite.expected, cells=None, mapped=None)
    return replace(suite, groups=kept, seeds=tuple(seeds) or suite.seeds, expected=expected)


def on_arrays(suite: Suite, archs: Sequence[str]) -> Suite:
    """Return the suite with every one of its sources on each of these arrays, in the place of its own arrays."""
    sources = tuple(dict.fromkeys(source for group in suite.groups for source in group.sources))
    group = SuiteGroup(sources=sources, archs=tuple(archs))
    return replace(suite, groups=(group,), expected=replace(suite.expected, cells=None, mapped=None))


def split_archs(text: str) -> list[str]:
    """Return the arrays of a comma-separated list; a parameter belongs to the array before it.

    >>> split_archs("torus:4x4,regs=4,ramp-7, mesh:fit")
    ['torus:4x4,regs=4', 'ramp-7', 'mesh:fit']
    """
    found: list[str] = []
    for word in (part.strip() for part in text.split(",")):
        if found and re.fullmatch(r"[\w.-]+=[^:]*", word):
            found[-1] += f",{word}"
        elif word:
            found.append(word)
    return found
