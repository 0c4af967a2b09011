"""Pictures of dataflow graphs: layers from top to bottom, loop-carried edges dashed and labelled with their distance.

Constants and live-ins are small and drawn beside each reader, since one box for all readers would need lines across the
whole picture.

The layers come from the longest path over edges of distance 0; loop-carried edges do not count, so a recurrence does
not stretch the picture. ``layered`` finds order and x. Time grows with the joints of long edges, so in a huge graph the
longest edges get none and are drawn as plain curves (``_JOINTS``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gridloom.dfg.model import Dfg, Edge
from gridloom.emit.details import node_caption
from gridloom.emit.picture import palette
from gridloom.emit.picture.geometry import Box, Point, smooth, spot
from gridloom.emit.picture.layered import LayeredGraph, place
from gridloom.emit.picture.legend import HEAD, MARGIN, Key, heading, legend, op_keys
from gridloom.emit.picture.text import document, element, fit_text, group, label, shorten_middle, text_width, title
from gridloom.emit.picture.tiles import rectangle

_HEIGHT: Final = 36.0
_SMALL: Final = 20.0
_STEP: Final = 70.0
_GAP: Final = 16.0
#: How many joints of long edges are laid out at most; more would take too long.
_JOINTS: Final = 12_000
_ARROW: Final = "graph-arrow"


@dataclass(slots=True)
class _Drawing:
    """A graph with its items placed: boxes for nodes, chains of items for edges.

    An *item* is a number in ``graph``; a node that is drawn once has one, a constant has one per edge that reads it,
    and a long edge has one joint in each layer between.
    """

    graph: LayeredGraph
    #: Node -> item, for nodes that are drawn once; edge -> item, for the copies of constants and live-ins.
    item: dict[int, int]
    copies: dict[int, int]
    #: Edge -> the items it passes, from source to target.
    chains: dict[int, list[int]]
    #: The x of each item.
    x: list[float]
    #: Edge -> how far from the middle of its target's upper side it ends.
    arrivals: dict[int, float] = field(default_factory=dict)

    def goes_down(self, edge: int) -> bool:
        """Return whether an edge leads to a lower layer."""
        chain = self.chains[edge]
        return self.graph.layer[chain[0]] < self.graph.layer[chain[-1]]


def svg_dfg(dfg: Dfg) -> str:
    """Return a picture of a graph as SVG text. It costs the layered layout: a few passes over nodes and edges."""
    return graph_picture(dfg, live=False)


def graph_picture(dfg: Dfg, *, live: bool) -> str:
    """Return the picture of a graph; ``live`` adds the marks that the report's script uses.

    Positions are the same in both forms. A graph without nodes gives a heading and nothing else.
    """
    drawing = _layout(dfg)
    wide = max((x + w / 2 for x, w in zip(drawing.x, drawing.graph.width)), default=0.0)
    width = max(wide + 2 * MARGIN + 30, 300.0)
    shift = (width - wide) / 2
    layers = max(drawing.graph.layer, default=0) + 1
    bottom = HEAD + layers * _STEP + 8
    boxes = _boxes(dfg, drawing, shift)
    edges = [_edge(dfg, e, drawing, boxes, shift, live) for e in range(len(dfg.edges))]
    nodes = [_node(dfg, k, boxes[item], live) for k, item in drawing.item.items()]
    nodes += [_node(dfg, dfg.index[dfg.edges[e].source], boxes[item], live) for e, item in drawing.copies.items()]
    keys, tall = legend(_keys(dfg), bottom, width)
    count = len(dfg.nodes), len(dfg.edges)
    about = f"{dfg.domain} · {count[0]} node{'s' * (count[0] != 1)} · {count[1]} edge{'s' * (count[1] != 1)}"
    arrow = element("marker", element("path", class_="soft", d="M0 0L7 3.5L0 7Z", fill=palette.surface("soft")),
                    id=_ARROW, markerWidth="7", markerHeight="7", refX="6", refY="3.5", orient="auto",
                    markerUnits="userSpaceOnUse")  # fmt: skip
    body = [
        element("defs", arrow),
        *heading(dfg.name, about, width),
        group(edges, class_="edges"),
        *nodes,
        *keys,
    ]
    return document(
        width,
        bottom + tall + 8,
        body,
        name=f"dataflow graph {dfg.name}",
        kind="graph",
        live=live,
        crop=HEAD - 5 if live else 0.0,
    )


def _keys(dfg: Dfg) -> list[Key]:
    """The legend: op classes, loop-carried edges and ordering edges, as far as they occur."""
    keys = op_keys(dfg.op_class(node.id) for node in dfg.nodes)
    if any(edge.distance for edge in dfg.edges):
        sample = element("path", class_="line", d="M1 0H21", stroke=palette.surface("line"), stroke_width="1.6",
                         stroke_dasharray="5 3", fill="none")  # fmt: skip
        keys.append(Key(sample, "loop-carried, with its distance"))
    if any(not edge.carries_value for edge in dfg.edges):
        sample = element("path", class_="line", d="M1 0H21", stroke=palette.surface("line"), stroke_width="1.6",
                         stroke_dasharray="1 4", stroke_linecap="round", fill="none")  # fmt: skip
        keys.append(Key(sample, "order only"))
    return keys


# -- layout ---------------------------------------------------------------------------------------------------------


def _layers(dfg: Dfg) -> list[int]:
    """The layer of each node: longest path down, then sources pulled towards their first reader.

    Constants and live-ins do not add a layer, since they are drawn beside their readers. Pulling sources down shortens
    their edges: an input that is read late is drawn late.
    """
    layer = [0] * len(dfg.nodes)
    for k in dfg.topological:
        for e in dfg.out_edges[k]:
            edge = dfg.edges[e]
            goal = dfg.index[edge.target]
            if edge.distance == 0 and goal != k:
                step = 0 if _is_small(dfg, k) else 1
                layer[goal] = max(layer[goal], layer[k] + step)
    for k in reversed(dfg.topological):
        readers = [layer[dfg.index[dfg.edges[e].target]] for e in dfg.out_edges[k] if dfg.edges[e].distance == 0]
        if readers and not any(dfg.edges[e].distance == 0 for e in dfg.in_edges[k]):
            layer[k] = max(layer[k], min(readers) - 1)
    return layer


def _is_small(dfg: Dfg, k: int) -> bool:
    return dfg.ops[k].timeless


def _layout(dfg: Dfg) -> _Drawing:
    """Place all nodes; a constant or live-in gets one small box for each of its readers.

    The copies are in the layer above their reader. Where there are any, all layers move down by one, so that readers in
    the first layer have a layer above them.
    """
    graph = LayeredGraph()
    layers = _layers(dfg)
    if any(_is_small(dfg, k) for k in range(len(dfg.nodes))):
        layers = [layer + 1 for layer in layers]
    item: dict[int, int] = {}
    copies: dict[int, int] = {}
    for k in range(len(dfg.nodes)):
        if not _is_small(dfg, k) or not dfg.out_edges[k]:
            item[k] = graph.add(_node_width(dfg, k), layers[k])
        else:
            for e in dfg.out_edges[k]:
                reader = dfg.index[dfg.edges[e].target]
                copies[e] = graph.add(_node_width(dfg, k), max(0, layers[reader] - 1))
    _compact(graph)
    chains = _chains(dfg, graph, item, copies)
    drawing = _Drawing(graph, item, copies, chains, place(graph, _GAP))
    drawing.arrivals = _arrivals(dfg, drawing)
    return drawing


def _chains(dfg: Dfg, graph: LayeredGraph, item: dict[int, int], copies: dict[int, int]) -> dict[int, list[int]]:
    """The items that each edge passes, from its source to its target; edges within a layer have none."""
    ends = {
        e: (copies.get(e, item.get(dfg.index[edge.source], -1)), item[dfg.index[edge.target]])
        for e, edge in enumerate(dfg.edges)
    }
    layer = graph.layer
    reach = _longest_jointed(abs(layer[a] - layer[b]) for a, b in ends.values())
    chains = {}
    for e, (a, b) in ends.items():
        if layer[a] == layer[b]:
            continue
        if abs(layer[a] - layer[b]) > reach:
            chains[e] = [a, b]
        else:
            chains[e] = graph.chain(a, b, 6.0) if layer[a] < layer[b] else graph.chain(b, a, 6.0)[::-1]
    return chains


def _longest_jointed(spans: Iterable[int]) -> int:
    """The length of the longest edges that get joints: in a huge graph longer ones would take most of the time."""
    room = _JOINTS
    longest = 1
    for span in sorted(spans):
        room -= span
        if room < 0:
            break
        longest = max(longest, span)
    return longest


def _compact(graph: LayeredGraph) -> None:
    """Leave out layers without an item."""
    used = {layer: k for k, layer in enumerate(sorted(set(graph.layer)))}
    graph.layer[:] = [used[layer] for layer in graph.layer]


def _node_width(dfg: Dfg, k: int) -> float:
    """The width of a node's box, by its texts."""
    caption = _caption(dfg, k)
    if _is_small(dfg, k):
        return max(24.0, min(70.0, text_width(caption, 10) + 12))
    return max(52.0, min(110.0, max(text_width(caption, 13), text_width(dfg.nodes[k].id, 9.5)) + 16))


def _caption(dfg: Dfg, k: int) -> str:
    node = dfg.nodes[k]
    return node.id if node.op == "livein" else node_caption(node.label, node.op, node.value)


def _boxes(dfg: Dfg, drawing: _Drawing, shift: float) -> dict[int, Box]:
    """Item -> the box of each node and copy."""
    boxes = {}
    small = set(drawing.copies.values()) | {i for k, i in drawing.item.items() if _is_small(dfg, k)}
    for item in [*drawing.item.values(), *drawing.copies.values()]:
        tall = _SMALL if item in small else _HEIGHT
        y = HEAD + drawing.graph.layer[item] * _STEP + _STEP / 2
        if item in small:
            y += (_HEIGHT - _SMALL) / 2
        boxes[item] = Box(drawing.x[item] + shift, y, drawing.graph.width[item] / 2, tall / 2)
    return boxes


# -- drawing --------------------------------------------------------------------------------------------------------


def _node(dfg: Dfg, k: int, box: Box, live: bool) -> str:
    """A node: its box with op and id, or a small one with a constant."""
    node = dfg.nodes[k]
    op_class = dfg.op_class(node.id)
    look = palette.shade(op_class)
    small = box.half_height < _HEIGHT / 2
    caption = _caption(dfg, k)
    marks: dict[str, object] = {"class_": "node"}
    if live:
        marks |= {
            "data_g": k,
            "tabindex": None if small else "-1",
            "role": "img",
            "aria_label": f"{node.id}: {node.op}",
        }
    room = (2 * box.half_width - 6) * 0.95
    parts = [] if live else [title(f"{node.id}: {node.op}")]
    parts.append(
        element(
            "rect",
            class_=f"op-{op_class}",
            **rectangle(box),
            rx=box.half_height if small else 8.0,
            fill=look.fill,
            stroke=look.stroke,
            stroke_width="1" if small else "1.5",
        )
    )
    if small or caption == node.id:
        size = 10 if small else 12.5
        parts.append(label(box.x, box.y + 4, fit_text(caption, size, room), size=size, weight=None if small else 600))
    else:
        parts.append(label(box.x, box.y - 2, fit_text(caption, 12.5, room), size=12.5, weight=600))
        parts.append(label(box.x, box.y + 11.5, shorten_middle(node.id, 9.5, room), size=9.5, kind="soft"))
    return group(parts, **marks)


def _edge(dfg: Dfg, e: int, drawing: _Drawing, boxes: dict[int, Box], shift: float, live: bool) -> str:
    """An edge as a path; a loop-carried one is dashed and carries its distance."""
    edge = dfg.edges[e]
    path, middle = _edge_path(dfg, e, drawing, boxes, shift)
    dashes = "1 4" if not edge.carries_value else "5 3.5" if edge.distance else None
    marks: dict[str, object] = {}
    if live:
        marks = {"data_e": e, "data_g": f"{dfg.index[edge.source]} {dfg.index[edge.target]}"}
    text = element(
        "path", "" if live else title(_describe(edge)), class_="line edge", d=path, fill="none",
        stroke=palette.surface("line"), stroke_width="1.5", stroke_dasharray=dashes,
        stroke_linecap="round" if dashes == "1 4" else None, marker_end=f"url(#{_ARROW})", **marks,
    )  # fmt: skip
    if edge.distance:
        # The rim of the number grows with its digits.
        half = 5 + 2.6 * len(str(edge.distance))
        text += element(
            "rect", class_="badge line", x=middle[0] - half, y=middle[1] - 7, width=2 * half, height=14.0, rx=7.0,
            fill=palette.surface("badge"), stroke=palette.surface("line"),
        )  # fmt: skip
        text += label(middle[0], middle[1] + 3.5, str(edge.distance), size=9.5, weight=600)
    return text


def _describe(edge: Edge) -> str:
    """An edge in words."""
    kind = "" if edge.kind == "data" else f" ({edge.kind})"
    back = f", {edge.distance} iteration{'s' * (edge.distance > 1)} back" if edge.distance else ""
    operand = f", operand {edge.operand}" if edge.carries_value else ""
    return f"{edge.source} to {edge.target}{operand}{back}{kind}"


def _edge_path(dfg: Dfg, e: int, drawing: _Drawing, boxes: dict[int, Box], shift: float) -> tuple[str, Point]:
    """The path of an edge through its joints, and the place for its distance.

    Edges go down from the lower side of the producer to the upper side of the consumer. The distance is written at
    about half the way.
    """
    edge = dfg.edges[e]
    goal = boxes[drawing.item[dfg.index[edge.target]]]
    source = boxes[drawing.copies.get(e, drawing.item.get(dfg.index[edge.source], -1))]
    chain = drawing.chains.get(e)
    if chain is None:
        return _beside(source, goal)
    joints = [(drawing.x[i] + shift, HEAD + drawing.graph.layer[i] * _STEP + _STEP / 2) for i in chain[1:-1]]
    if source.y < goal.y:
        end = (goal.x + drawing.arrivals[e], goal.top - 1)
        points = [(source.x, source.bottom), *joints, end]
        return smooth(points), _middle(points)
    # A value carried to an earlier layer leaves and enters at the side, so that nobody reads it as going down.
    first = joints[0] if joints else (goal.x + goal.half_width + 24, (source.y + goal.y) / 2)
    last = joints[-1] if joints else first
    leave = (source.right if first[0] >= source.x else source.left, source.y)
    enter = (goal.right + 1 if last[0] >= goal.x else goal.left - 1, goal.y)
    text = f"M{spot(leave)}Q{spot((first[0], leave[1]))} {spot(first)}"
    text += smooth(joints)[len("M" + spot(first)) :] if len(joints) > 1 else ""
    return text + f"Q{spot((last[0], enter[1]))} {spot(enter)}", _middle([first, *joints, last])


def _middle(points: list[Point]) -> Point:
    """The middle of the leg that is nearest to half the number of points."""
    k = (len(points) - 1) // 2
    (x0, y0), (x1, y1) = points[k], points[min(k + 1, len(points) - 1)]
    return (x0 + x1) / 2, (y0 + y1) / 2


def _arrivals(dfg: Dfg, drawing: _Drawing) -> dict[int, float]:
    """How far from the middle of its target's upper side each edge ends: from left to right as edges arrive."""
    offsets: dict[int, float] = {}
    for target, item in drawing.item.items():
        coming = [k for k in dfg.in_edges[target] if k in drawing.chains and drawing.goes_down(k)]
        # Edges that end in the order in which they arrive do not cross just above the box.
        coming.sort(key=lambda k: (drawing.x[drawing.chains[k][-2]], k))
        # Arrows keep away from the rounded corners of the box.
        room = min(18.0, (drawing.graph.width[item] - 20) / max(1, len(coming)))
        for place_in_row, k in enumerate(coming):
            offsets[k] = (place_in_row - (len(coming) - 1) / 2) * room
    return offsets


def _beside(source: Box, goal: Box) -> tuple[str, Point]:
    """An edge within a layer: a loop at the right for a node's own value, an arc below for that of a neighbour."""
    if source is goal or source == goal:
        x, y = source.right, source.y
        return f"M{spot((x, y + 8))}C{spot((x + 26, y + 14))} {spot((x + 26, y - 14))} {spot((x + 1, y - 8))}", (
            x + 20,
            y,
        )
    start, end = (source.x + 6, source.bottom), (goal.x + 6, goal.bottom + 1)
    low = source.bottom + 24
    return f"M{spot(start)}C{spot((start[0], low))} {spot((end[0], low))} {spot(end)}", (
        (start[0] + end[0]) / 2,
        low - 6,
    )
