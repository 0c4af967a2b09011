"""A run of tokens as the studio steps through it and as Perfetto shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from gridloom.emit.waves.perfetto import Span
from gridloom.mapping.configuration import Configuration
from gridloom.targets.dataflow.machine.trace import BUSY, STALLED, STARVED, TokenTrace, record_tokens

_STATES: Final = {BUSY: "busy", STARVED: "starved", STALLED: "stalled"}


@dataclass(frozen=True)
class ShownTokens:
    """A trace of tokens in the two forms that are shown."""

    trace: TokenTrace

    def head(self) -> dict[str, Any]:
        """Return the run, whole: what each unit does at each moment and where tokens wait."""
        trace = self.trace
        names = trace.configuration.arch.resource_names
        counters = trace.counters
        waiting = []
        for f, flow in enumerate(trace.flows):
            hops = max(len(flow.links), 1)
            first = trace.first[f]
            under_way = counters[:, first : first + hops] - counters[:, first + 1 : first + hops + 1]
            buffered = counters[:, first + hops] - trace.taken[:, f]
            waiting.append({
                "edge": flow.edge, "links": list(flow.links), "names": [names[link] for link in flow.links],
                "source": flow.source, "target": flow.target, "room": flow.room,
                "under_way": under_way.T.tolist(), "buffered": buffered.tolist(),
            })  # fmt: skip
        return {
            "kind": "tokens",
            "cycles": len(trace.cycles),
            "times": trace.cycles.tolist(),
            "units": [list(unit) for unit in trace.units],
            "state": trace.state.T.tolist(),
            "fired": trace.fired.T.tolist(),
            "flows": waiting,
            "stuck": trace.stuck,
            "cut": trace.cut,
        }

    def spans(self) -> Iterator[Span]:
        """Yield a span for each stretch in which a unit is busy, starved or stalled."""
        trace = self.trace
        arch, dfg = trace.configuration.arch, trace.configuration.dfg
        ends = [*trace.cycles[1:].tolist(), int(trace.cycles[-1]) + 1]
        for u, (tile, node) in enumerate(trace.units):
            states = trace.state[:, u].tolist()
            begin = 0
            for m in range(1, len(states) + 1):
                if m == len(states) or states[m] != states[begin]:
                    if states[begin] in _STATES:
                        start = int(trace.cycles[begin])
                        name = f"{dfg.nodes[node].id}: {_STATES[states[begin]]}"
                        yield Span(track=arch.tiles[tile].name, name=name, start=start, cycles=ends[m - 1] - start)
                    begin = m


def record(configuration: Configuration, *, iterations: int, moments: int) -> ShownTokens:
    """Run a configuration token by token and keep what stands at each moment, at most ``moments`` of them."""
    return ShownTokens(record_tokens(configuration, iterations=iterations, moments=moments))
