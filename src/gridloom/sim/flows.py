"""When each flow starts: flows joined only by asynchronous edges are free to slide against each other by whole rounds.

A flow is what data, pair and order edges hold together. Behind an asynchronous edge a flow starts as late as the values
need, and a seeded number of rounds later still: a result that depends on how long a message takes then shows as wrong.

Only starts are decided here. Within a flow all cycles are as configured; between flows only whole rounds (II cycles)
are added, so that each slot keeps its place modulo II.

Flows are found on the configuration, not on the mapping: two issue slots belong together if the value of one reaches
the other over multiplexers and registers as they are set, if they use the same spill, or if the graph orders them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridloom.archs.model import ISSUE_KINDS, Kind
from gridloom.errors import SimulationError
from gridloom.mapping.configuration import Configuration, Slot
from gridloom.sim.reading import positions

# A flow behind an asynchronous edge starts at most so many rounds later than it could.
_MOST_EXTRA_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class _Wait:
    """One asynchronous edge between two flows: ``target`` starts at least ``rounds`` after ``source``.

    Flows are named by one of their issue slots. ``rounds`` may be negative, where the mapping starts the target later
    than the edge asks for. ``edge`` is the edge in words, for messages.
    """

    source: int
    target: int
    rounds: int
    edge: str


def start_stages(configuration: Configuration, seed: int) -> list[int]:
    """The start stage of each issue slot; as configured where nothing is asynchronous.

    SimulationError when asynchronous edges wait for each other. O(flows * asynchronous edges).
    """
    slots = configuration.slots
    if not any(operand.kind == "async" for slot in slots for operand in slot.operands):
        return [slot.start for slot in slots]
    flow = _flows(configuration)
    waits = _waits(configuration, flow)
    # Once without extra rounds, so that an error is about the graph and not about the seed.
    offsets = _longest(configuration, waits)
    rng = np.random.default_rng(seed)
    around = _on_cycles(waits)
    extra = rng.integers(0, _MOST_EXTRA_ROUNDS + 1, len(waits)).tolist()
    later = [
        wait if wait.target in around else _Wait(wait.source, wait.target, wait.rounds + more, wait.edge)
        for wait, more in zip(waits, extra)
    ]
    offsets = _longest(configuration, later)
    return [slot.start + offsets.get(flow[k], 0) for k, slot in enumerate(slots)]


def _flows(configuration: Configuration) -> list[int]:
    """The flow of each issue slot, named by one of its slots.

    Union-find over slots: producer and consumer of a routed or paired operand, both ends of an order edge, and all
    users of a spill buffer belong to one flow.
    """
    slots, dfg = configuration.slots, configuration.dfg
    parent = list(range(len(slots)))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    copies: dict[int, list[int]] = {}
    for k, slot in enumerate(slots):
        if slot.kind == "op":
            copies.setdefault(slot.node, []).append(k)
    at = positions(dfg)
    for edge in dfg.edges:
        if edge.kind == "order":
            ends = copies.get(at[edge.source], []) + copies.get(at[edge.target], [])
            for other in ends[1:]:
                parent[root(other)] = root(ends[0])
    users: dict[int, int] = {}
    for k, slot in enumerate(slots):
        if slot.spill >= 0:
            parent[root(users.setdefault(slot.spill, k))] = root(k)
        for other in _producers(configuration, slot):
            parent[root(other)] = root(k)
    return [root(k) for k in range(len(slots))]


def _producers(configuration: Configuration, slot: Slot) -> list[int]:
    """The issue slots whose results a slot reads in step with it.

    Routed operands are followed back through the multiplexers, not taken from the mapping: a configuration need not
    come from one.
    """
    producers = []
    for operand in slot.operands:
        if operand.kind == "pair":
            producers += [
                k for k, other in enumerate(configuration.slots)
                if other.kind == "op" and (other.node, other.copy) == (operand.node, operand.copy)
            ]  # fmt: skip
        elif operand.kind == "routed" and 0 <= operand.resource < len(configuration.driver):
            k = trace(configuration, operand.resource, (slot.slot - operand.fifo) % configuration.ii)
            if k >= 0:
                producers.append(k)
    return producers


def trace(configuration: Configuration, row: int, slot: int) -> int:
    """The issue slot whose result stands in a row in a slot, found back over multiplexers and holds; -1: none.

    A register that is not written in a slot holds what it had in the slot before (or what its neighbour had, where a
    file rotates at slot 0). The number of steps is bounded, so that a cycle of wires ends the search, too.
    """
    arch, ii = configuration.arch, configuration.ii
    counts = configuration.settings.get("rotating", {})
    turns = {
        register: file.registers[(k + 1) % count]
        for file in arch.register_files
        for count in [counts.get(file.name, file.rotating)]
        for k, register in enumerate(file.registers[:count])
    }
    for _ in range((len(turns) + 2) * ii * (len(configuration.driver) + 1)):
        resource = row if row < len(arch.kind) else configuration.lanes[row - len(arch.kind)]
        source = int(configuration.driver[row, slot])
        storage = arch.kind[resource] in (Kind.OUT, Kind.REG)
        if storage or (source >= 0 and source < len(arch.kind) and arch.kind[source] in ISSUE_KINDS):
            writer = _writer(configuration, resource, source, slot)
            if writer >= 0:
                return writer
            if not storage:
                return -1
            row = turns.get(row, row) if slot == 0 else row
            slot = (slot - 1) % ii
        elif source < 0:
            return -1
        else:
            row, slot = source, (slot - int(configuration.delay[row, slot])) % ii
    return -1


def _writer(configuration: Configuration, resource: int, source: int, slot: int) -> int:
    """The issue slot that completes in a slot and writes a resource; -1 for none.

    It writes its tile's output register, and whatever selects its function unit.
    """
    arch = configuration.arch
    for k, record in enumerate(configuration.slots):
        done = (record.slot + record.latency) % configuration.ii
        own = arch.kind[resource] == Kind.OUT and arch.tile[resource] == record.tile
        if record.writes and done == slot and (own or record.resource == source):
            return k
    return -1


def _waits(configuration: Configuration, flow: list[int]) -> list[_Wait]:
    """For each asynchronous operand, how many rounds its flow has to start after its producer's."""
    ii, slots, nodes = configuration.ii, configuration.slots, configuration.dfg.nodes
    producer = {(slot.node, slot.copy): k for k, slot in enumerate(slots) if slot.kind == "op"}
    waits = []
    for k, slot in enumerate(slots):
        for operand in slot.operands:
            source = producer.get((operand.node, operand.copy), -1) if operand.kind == "async" else -1
            if source < 0:
                continue
            there = slots[source].start * ii + slots[source].slot + slots[source].latency
            rounds = -((slot.start * ii + slot.slot - there) // ii) - operand.distance
            name = f"{nodes[operand.node].id} -> {nodes[slot.node].id}"
            waits.append(_Wait(flow[source], flow[k], rounds, name))
    return waits


def _longest(configuration: Configuration, waits: list[_Wait]) -> dict[int, int]:
    """The least start of each flow that meets every wait, by Bellman-Ford over longest paths.

    SimulationError names the edges that wait for each other where there is no such start.
    """
    offsets = {flow: 0 for wait in waits for flow in (wait.source, wait.target)}
    for _ in range(len(offsets) + 1):
        moved = [wait for wait in waits if offsets[wait.target] < offsets[wait.source] + wait.rounds]
        if not moved:
            return offsets
        for wait in moved:
            offsets[wait.target] = max(offsets[wait.target], offsets[wait.source] + wait.rounds)
    around = _on_cycles(waits)
    edges = ", ".join(sorted({wait.edge for wait in waits if wait.source in around and wait.target in around}))
    raise SimulationError(
        f"asynchronous edges wait for each other: {edges}; give one of them a distance that covers the latency",
        where=f"graph {configuration.dfg.name!r} on array {configuration.arch.name!r}",
    )


def _on_cycles(waits: list[_Wait]) -> set[int]:
    """The flows that asynchronous edges lead back to: being late there would make them later still."""
    import rustworkx

    graph = rustworkx.PyDiGraph()
    names = sorted({flow for wait in waits for flow in (wait.source, wait.target)})
    number = {flow: graph.add_node(flow) for flow in names}
    for wait in waits:
        graph.add_edge(number[wait.source], number[wait.target], None)
    around: set[int] = set()
    for part in rustworkx.strongly_connected_components(graph):
        if len(part) > 1:
            around |= {graph[k] for k in part}
    return around | {wait.source for wait in waits if wait.source == wait.target}
