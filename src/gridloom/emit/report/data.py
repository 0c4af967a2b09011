"""What the report's script needs to know: plain JSON data, one record for each thing that can be pointed at.

Records are in lists, and their positions are the indices in the ``data-`` attributes of the pictures, so that the
script looks things up without searching. Texts are made here; the script only shows them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping as MappingABC
from typing import Any, Final

from gridloom.emit.details import Details, Way
from gridloom.emit.picture.text import printable


def report_data(details: Details) -> dict[str, Any]:
    """Nodes, instances, edges, tiles, used resources and the time line, by the indices that the pictures carry.

    Linear in the mapping. Only resources that a route uses have a record.
    """
    return {
        "timeline": timeline(details),
        "nodes": [_node(details, k) for k in range(len(details.dfg.nodes))],
        "instances": [_instance(details, k) for k in range(len(details.mapping.instances))],
        "edges": [_edge(details, k) for k in range(len(details.dfg.edges))],
        "tiles": [_tile(details, k) for k in range(len(details.arch.tiles))],
        "resources": {str(r): _resource(details, r) for r in details.uses},
    }


def timeline(details: Details) -> dict[str, Any]:
    """What the slider runs over: slots, the cycles of one iteration, or the stages of an elastic pipeline.

    At II 1 there is one slot, in which everything happens: the cycles in which a pipeline fills say more.
    """
    if details.arch.style == "modulo" and details.ii > 1:
        return {"unit": "slot", "last": details.ii - 1, "ii": details.ii}
    if not details.arch.is_timed:
        placed = [details.depth[instance.node] for instance in details.mapping.instances]
        return {"unit": "stage", "last": max([0, *placed]), "ii": 1}
    return {"unit": "cycle", "last": details.last_cycle, "ii": 1}


def _node(details: Details, k: int) -> dict[str, Any]:
    """A node: its id, and what the graph says of it beyond that."""
    node = details.dfg.nodes[k]
    facts = {"op": node.op, "class": details.dfg.op_class(node.id)}
    for name in ("value", "array", "variable", "liveout", "label"):
        value = getattr(node, name)
        if value is not None and value != node.id:
            facts[name] = str(value)
    return {"id": node.id, "facts": facts}


def _instance(details: Details, k: int) -> dict[str, Any]:
    """An instance: its node, where and when it is, and its operands in words."""
    instance = details.mapping.instances[k]
    operands = []
    for e in details.dfg.operand_edges(instance.node):
        operands.append(_operand(details, e, details.way_of.get((e, instance.copy))))
    facts: dict[str, Any] = {"tile": instance.place}
    if details.arch.is_timed:
        facts["cycle"] = str(instance.cycle)
        if details.ii > 1:
            facts["slot"] = f"{instance.cycle % details.ii}, round {instance.cycle // details.ii}"
    if instance.copy:
        facts["copy"] = str(instance.copy)
    return {"node": details.dfg.index[instance.node], "facts": facts, "operands": operands}


def _operand(details: Details, e: int, way: Way | None) -> str:
    """An operand in words: its source, the iterations between, when it arrives and how long it waits."""
    edge = details.dfg.edges[e]
    source = details.dfg.node(edge.source)
    text = f"operand {edge.operand}: {edge.source}"
    if source.op == "const":
        text += f" = {source.value}"
    if edge.distance:
        text += f", {edge.distance} iteration{'s' * (edge.distance > 1)} back"
    if way is not None and way.hops and details.arch.is_timed:
        text += f", arrives at {way.hops[-1][1]}"
    if way is not None and way.route.fifo:
        text += f", waits {way.route.fifo}"
    return text


def _edge(details: Details, e: int) -> dict[str, Any]:
    """An edge with the hops and the wait of its route to the first copy of the consumer."""
    edge = details.dfg.edges[e]
    facts: dict[str, str] = {}
    if edge.carries_value:
        facts["operand"] = str(edge.operand)
    if edge.kind != "data":
        facts["kind"] = edge.kind
    if edge.distance:
        facts["distance"] = str(edge.distance)
    way = details.way_of.get((e, 0))
    if way is not None:
        facts["hops"] = " → ".join(name for name, _ in way.route.hops)
        facts["waits"] = str(way.route.fifo)
    return {"name": f"{edge.source} → {edge.target}", "facts": facts}


def _tile(details: Details, t: int) -> dict[str, Any]:
    """A tile: its op classes, how full its links are, and the longest wait of its operands."""
    tile = details.arch.tiles[t]
    facts = {"op classes": ", ".join(sorted(tile.classes)) or "none"}
    if tile.fifo is not None and tile.kind == "pe":
        facts["FIFO depth"] = str(tile.fifo)
    share = details.congestion.get(t)
    if share is not None:
        facts["links taken"] = f"{100 * share:.0f} %"
    if t in details.fifo:
        facts["longest wait"] = str(details.fifo[t])
    return {"name": tile.name, "facts": facts}


def _resource(details: Details, r: int) -> dict[str, Any]:
    """A resource: which signals it carries, and when."""
    rows: dict[int, list[int]] = {}
    for signal, cycle, _ in details.uses[r]:
        if cycle not in rows.setdefault(signal, []):
            rows[signal].append(cycle)
    lines = []
    for signal, cycles in rows.items():
        text = f"carries {details.signals[signal][0]}"
        if details.arch.is_timed:
            text += f" at cycle {', '.join(str(cycle) for cycle in cycles)}"
        lines.append(text)
    return {"name": details.arch.resource_names[r], "lines": lines}


# -- safe text ------------------------------------------------------------------------------------------------------


def script_json(data: Any) -> str:
    r"""JSON that may stand in a ``script`` element: nothing in it can end the element, whatever the names are.

    Besides ``<``, ``>`` and ``&``, everything beyond ASCII is escaped. Infinite numbers, which JSON cannot hold, become
    words.

    >>> script_json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(finite(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def finite(data: Any) -> Any:
    """JSON has no infinity: such numbers become words."""
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    if isinstance(data, MappingABC):
        return {str(key): finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return printable(data) if isinstance(data, str) else data


#: What a reader calls a metric, where it is not the name of its field.
_NAMES: Final = {
    "ii": "II",
    "mii": "MII",
    "res_mii": "MII by resources",
    "rec_mii": "MII by recurrences",
    "seconds": "seconds of search",
    "latency": "latency in cycles",
    "period": "period in cycles",
    "buffers max": "deepest buffer",
    "buffers total": "buffers in all",
    "slots used": "slots used",
    "slots total": "slots in all",
    "slots ops": "slots for operations",
    "slots moves": "slots for moves",
    "simd bits": "SIMD width in bits",
    "simd lanes": "SIMD lanes",
    "simd elements_per_cycle": "elements per cycle in all lanes",
    "simd tile_memory_bytes": "bytes of memory per tile",
    "simd split": "one loop is split over the lanes",
    "simd split_refused": "each lane runs a loop of its own, since",
    "width": "columns used",
    "height": "rows used",
}


def flat_facts(data: MappingABC[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested metrics as (name, text) rows; what is None is left out.

    The name of a nested metric begins with that of its group, unless ``_NAMES`` has better words for it.

    >>> flat_facts({"ii": 2, "buffers": {"max": 3}, "legal": True, "wirelength": None})
    [('II', '2'), ('deepest buffer', '3'), ('legal', 'yes')]
    """
    rows: list[tuple[str, str]] = []
    for key, value in data.items():
        field = f"{prefix}{key}"
        name = _NAMES.get(field, field.replace("_", " "))
        if isinstance(value, MappingABC):
            rows += flat_facts(value, f"{prefix}{key} ")
        elif value is not None:
            rows.append((name, _fact(value)))
    return rows


def _fact(value: Any) -> str:
    """A value as a reader expects it: yes or no, whole numbers without a point, four digits of others."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(_fact(item) for item in value) or "none"
    return str(value)
