"""Plausible wrong values, and a run of mapper and judges with one of them planted, in a process of its own.

The process is forked: a wrong index may lead a compiled kernel anywhere, and a crash is no silence.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from tests.judges.cases import Case, cases, judge
from tests.judges.members import planted

from gridloom.dfg.interpreter import Observation
from gridloom.errors import GridloomError
from gridloom.mapping.configuration import Configuration
from gridloom.mapping.model import Mapping

#: Seconds after which a run counts as lost.
PATIENCE = 120


def less(value: Any) -> Any:
    """The value with something missing: the last element, or one of a number."""
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, int | np.integer):
        return value - 1 if value > 0 else value + 1
    if isinstance(value, tuple | list):
        return value[:-1]
    if isinstance(value, dict):
        return dict(list(value.items())[:-1])
    if isinstance(value, frozenset):
        return frozenset(sorted(value, key=str)[:-1])
    if isinstance(value, np.ndarray) and value.size:
        return np.concatenate([value[:-1], value[:1]])
    return _of_a_record(value)


def other(value: Any) -> Any:
    """The value of somebody else: elements take the place of their neighbours, a number is one too large."""
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, int | np.integer):
        return value + 1
    if isinstance(value, tuple | list):
        return value[1:] + value[:1] if len(value) != 1 else (less(value[0]),)
    if isinstance(value, dict):
        return dict(zip(value, [*value.values()][1:] + [*value.values()][:1]))
    if isinstance(value, frozenset):
        return value | {"alu"}
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(np.roll(value, 1, axis=0))
    return _of_a_record(value)


def _of_a_record(value: Any) -> Any:
    if isinstance(value, str):
        return "mul" if value == "alu" else "alu"
    if isinstance(value, Configuration):
        return replace(value, slots=value.slots[:-1], token_paths=value.token_paths[:-1])
    if isinstance(value, Observation):
        outputs = {name: words + 1 for name, words in value.outputs.items()}
        memory = {name: words + 1 for name, words in value.memory.items()}
        return replace(value, outputs=outputs, memory=memory, values=value.values + 1)
    return value


FAULTS: dict[str, Callable[[Any], Any]] = {"less": less, "other": other}


@dataclass
class Outcome:
    """What came of a planted fault: cases by what happened."""

    #: Both judges accepted what an array that works would get wrong.
    slipped: list[str] = field(default_factory=list)
    #: A judge refused the mapping that was made under the fault, or a sound one.
    reported: list[str] = field(default_factory=list)
    #: Mapper or judge ended in an exception, or in a crash.
    loud: list[str] = field(default_factory=list)

    def add(self, more: Outcome) -> None:
        """Add the cases of another outcome."""
        self.slipped += more.slipped
        self.reported += more.reported
        self.loud += more.loud


def run_planted(name: str, damage: Callable[[Any], Any]) -> Outcome:
    """Plant a fault in a member of the model, map every case and let the judges look, all under the fault."""
    prepared()
    outcome, left = Outcome(), list(cases())
    while left:
        for found in _run_apart(lambda cases_left=tuple(left): _outcomes(name, damage, cases_left)):
            outcome.add(found)
            left.pop(0)
        if left:
            # The process is gone, and its case with it: judge what is left in another one.
            outcome.loud.append(left.pop(0))
    return outcome


def _run_apart(work: Callable[[], Iterator[Outcome]]) -> Iterator[Outcome]:
    """What a forked process yields, until it ends, crashes or is out of time."""
    context = multiprocessing.get_context("fork")
    near, far = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(far, work), daemon=True)
    child.start()
    far.close()
    try:
        while near.poll(PATIENCE):
            yield near.recv()
    except EOFError:
        pass
    finally:
        child.kill()
        child.join()


def _send(pipe: Any, work: Callable[[], Iterator[Outcome]]) -> None:
    """Send what there is, one by one, and keep the last words of a crash to ourselves."""
    faulthandler.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for outcome in work():
        pipe.send(outcome)


_SOUND: dict[str, Mapping] = {}


def prepared() -> dict[str, Mapping]:
    """A sound mapping for each case, which both judges accept; made once, without a fault."""
    for name, case in cases().items():
        if name not in _SOUND:
            mapping = case.map()
            assert isinstance(mapping, Mapping), f"{name}: {mapping}"
            assert judge(mapping), f"{name}: {judge(mapping)}"
            _SOUND[name] = mapping
    return _SOUND


def _outcomes(name: str, damage: Callable[[Any], Any], left: tuple[str, ...]) -> Iterator[Outcome]:
    """What comes of a fault, case by case."""
    for case in left:
        with planted(name, damage):
            mapping = _mapped(cases()[case])
            verdicts = [_verdict(found) for found in (mapping, _SOUND[case], damaged(_SOUND[case]))]
        passed = mapping is not None and verdicts[0] == "accepted" and not judge(mapping)
        yield Outcome(
            slipped=[case] * passed + [f"{case}, damaged"] * (verdicts[2] == "accepted"),
            reported=[case] * ("refused" in verdicts[:2]),
            loud=[case] * (mapping is None or "exception" in verdicts),
        )


def _mapped(case: Case) -> Mapping | None:
    try:
        found = case.map()
    except Exception:  # whatever a fault leads to
        return None
    return found if isinstance(found, Mapping) else None


def _verdict(mapping: Mapping | None) -> str:
    try:
        return "none" if mapping is None else "accepted" if judge(mapping) else "refused"
    except GridloomError:
        return "refused"
    except Exception:  # whatever a fault leads to
        return "exception"


def damaged(mapping: Mapping) -> Mapping:
    """A mapping that no judge may accept: its longest route lacks a hop."""
    k = max(range(len(mapping.routes)), key=lambda k: len(mapping.routes[k].hops))
    hops = list(mapping.routes[k].hops)
    del hops[random.Random(0).randrange(1, len(hops))]
    routes = list(mapping.routes)
    routes[k] = replace(routes[k], hops=tuple(hops))
    return replace(mapping, routes=tuple(routes))
