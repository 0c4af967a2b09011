"""Whole placements by a policy, compiled: the network is evaluated for all slots of each node, without torch.

The logit of a slot is a small MLP over its description and a context, plus a linear term over the description:

    hidden = relu(row @ slot + context[node] + survey @ board)
    logit  = relu(hidden @ second + bias) @ score + row @ direct

``context`` comes from the graph network and is computed once for each graph. With ``plain`` only the linear term is
evaluated; that is how the hand-written rank and uniformly random choices are played by the same code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.jit import compile_internal, kernel
from gridloom.search.arrays import Bools, Int32s, Uint8s
from gridloom.targets.streaming.learned.slots.board_kernel import (
    BOUND,
    CLASHES,
    FEATURES,
    MISSING,
    SURVEY,
    TILES,
    BoardGraph,
    BoardScratch,
    SlotBoard,
    clear,
    describe,
    put,
    survey,
)
from gridloom.targets.streaming.mappers.anneal_kernel import price_of
from gridloom.targets.streaming.mappers.kernel import NONE, makespan
from gridloom.targets.streaming.mappers.problem import Tables

Floats = NDArray[np.float32]

#: What a clash or a missing register costs beside a cycle; what a board costs that gets stuck, per node left.
CLASH, STUCK = 3.0, 8.0

#: Cycles that count as 1 in rewards.
SCALE = 6.0

#: Widths of the two layers over slots; constants, so that compiled loops over them are unrolled.
WIDE, SECOND = 32, 16

#: Nodes times slots of a board that is played in about a tenth of a second.
SOON = 100_000

_fast = compile_internal(_nrt=False, fastmath=True)


class Net(NamedTuple):
    """The weights of a policy for one graph, as float32 arrays; see the module's docstring."""

    context: Floats
    board: Floats
    slot: Floats
    second: Floats
    bias: Floats
    score: Floats
    direct: Floats
    #: What a tile that is not in use yet loses, in logits per unit of the goal's weight of tiles.
    new_tile: float
    plain: bool


class DecisionRecord(NamedTuple):
    """What training keeps of each decision: [board, step, ...]. Where the first axis has length 0, nothing is kept."""

    rows: Floats
    legal: Bools
    boards: Floats
    choice: Int32s
    log: Floats
    reward: Floats


@_fast
def logits_of(net: Net, n: int, seen: Floats, rows: Floats, legal: Bools, tiles_weight: float, hidden: Floats,
              out: Floats) -> None:  # fmt: skip
    """Write the logits of the legal slots; ``hidden`` is scratch of [2, WIDE]."""
    base, first = hidden[0], hidden[1]
    if not net.plain:
        for h in range(WIDE):
            base[h] = net.context[n, h]
        for k in range(SURVEY):
            x = seen[k]
            for h in range(WIDE):
                base[h] += x * net.board[k, h]
    for k in range(len(legal)):
        if not legal[k]:
            continue
        total = -net.new_tile * tiles_weight * rows[k, 12]
        for f in range(FEATURES):
            total += rows[k, f] * net.direct[f]
        if not net.plain:
            for h in range(WIDE):
                x = base[h]
                for f in range(FEATURES):
                    x += rows[k, f] * net.slot[f, h]
                first[h] = max(x, np.float32(0.0))
            for h in range(SECOND):
                x = net.bias[h]
                for f in range(WIDE):
                    x += first[f] * net.second[f, h]
                total += max(x, np.float32(0.0)) * net.score[h]
        out[k] = total


@_fast
def _choose(logits: Floats, legal: Bools, temperature: float) -> int:
    """The slot with the greatest logit or, at a temperature above 0, a sample (the greatest with Gumbel noise)."""
    best, pick = -1e30, -1
    for k in range(len(legal)):
        if legal[k]:
            value = float(logits[k])
            if temperature > 0:
                value -= temperature * np.log(-np.log(np.random.random() * 0.999999 + 5e-7))
            if value > best:
                best, pick = value, k
    return pick


@_fast
def _log_probability(logits: Floats, legal: Bools, pick: int) -> float:
    """The logarithm of the probability of a slot at temperature 1."""
    most, total = -1e30, 0.0
    for k in range(len(legal)):
        if legal[k]:
            most = max(most, float(logits[k]))
    for k in range(len(legal)):
        if legal[k]:
            total += np.exp(logits[k] - most)
    return float(logits[pick] - most - np.log(total))


@kernel
def new_board(tables: Tables, nodes: int, ii: int) -> SlotBoard:
    """Return an empty board; ``clear`` has to be called before it is used."""
    tiles = tables.device.tiles
    return SlotBoard(
        np.empty(nodes, dtype=np.int32),
        np.empty(nodes, dtype=np.int32),
        np.empty((tiles, ii), dtype=np.int32),
        np.empty((tiles * 4, ii), dtype=np.int32),
        np.empty((tiles, ii), dtype=np.int32),
        np.empty(tiles, dtype=np.int32),
        np.empty(tiles, dtype=np.int32),
        np.empty((nodes, tiles), dtype=np.bool_),
        np.empty(nodes, dtype=np.int32),
        np.empty(8, dtype=np.int32),
    )


@kernel
def new_scratch(tables: Tables) -> BoardScratch:
    """Return the arrays that describing and putting need."""
    tiles = tables.device.tiles
    return BoardScratch(
        np.empty(tiles, dtype=np.bool_),
        np.empty(tiles, dtype=np.int32),
        np.empty(tiles, dtype=np.int32),
        np.empty(tiles, dtype=np.int32),
        np.empty(tiles, dtype=np.int32),
        np.empty(tiles, dtype=np.int32),
        np.empty((24, 3), dtype=np.int32),
    )


@kernel
def play(
    tables: Tables,
    graph: BoardGraph,
    net: Net,
    ii: int,
    seed: int,
    heats: Floats,
    tiles_weight: float,
    stop: Uint8s,
    tile: Int32s,
    spoke: Int32s,
    cost: Floats,
    record: DecisionRecord,
) -> int:
    """Play ``len(heats)`` boards, each at its temperature (0: greedy); returns how many were played before a stop.

    ``tile`` and ``spoke`` are [board, node]; ``cost`` is cycles and a price for each clash, missing register and tile
    in use by the goal, as the annealer counts them. A board that gets stuck costs 1e9. Playing a board takes
    O(nodes * slots * operands) and the network for each slot: about a microsecond for each node and slot. A first board
    that is played soon is played to its end also after a stop.
    """
    np.random.seed(seed)
    count = tile.shape[1]
    slots = tables.device.tiles * ii
    board, scratch = new_board(tables, count, ii), new_scratch(tables)
    rows = np.zeros((slots, FEATURES), dtype=np.float32)
    legal = np.zeros(slots, dtype=np.bool_)
    out = np.zeros(slots, dtype=np.float32)
    seen = np.zeros(SURVEY, dtype=np.float32)
    hidden = np.zeros((2, WIDE), dtype=np.float32)
    issue, later = np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.int32)
    owner, price = np.zeros((slots // ii * 4, ii), dtype=np.int32), np.zeros((slots // ii * 4, ii), dtype=np.int32)
    steps = np.zeros((max(1, len(tables.wire_source)), slots // ii), dtype=np.int32)
    waits = np.zeros((slots // ii, ii), dtype=np.int32)
    keep = len(record.choice) > 0
    for b in range(len(heats)):
        if stop[0] and b > 0:
            return b
        clear(tables, graph, board)
        cost[b] = 0.0
        for k in range(count):
            if stop[0] and (b > 0 or count * slots > SOON):
                cost[b] = 1e9
                return b
            n = graph.order[k]
            if describe(tables, graph, ii, board, n, scratch, rows, legal) == 0:
                cost[b] = 1e9
                if keep:
                    record.choice[b, k:] = NONE
                    record.reward[b, max(0, k - 1)] -= STUCK * (count - k) / SCALE
                break
            survey(tables, graph, ii, board, n, tiles_weight, seen)
            logits_of(net, n, seen, rows, legal, tiles_weight, hidden, out)
            pick = _choose(out, legal, heats[b])
            before = _price(board.sums, tiles_weight)
            put(tables, graph, ii, board, n, pick, scratch)
            if keep:
                for j in range(slots):
                    record.legal[b, k, j] = legal[j]
                    for f in range(FEATURES):
                        record.rows[b, k, j, f] = rows[j, f] if legal[j] else np.float32(0.0)
                for f in range(SURVEY):
                    record.boards[b, k, f] = seen[f]
                record.choice[b, k] = pick
                record.log[b, k] = _log_probability(out, legal, pick)
                record.reward[b, k] = -(_price(board.sums, tiles_weight) - before) / SCALE
        for n in range(count):
            tile[b, n] = board.tile[n]
            spoke[b, n] = board.issue[n] % ii
        if cost[b] < 1e9:
            _, wrong = price_of(tables, ii, tile[b], spoke[b], issue, owner, price, steps, waits, later)
            cost[b] = makespan(tables, issue) + CLASH * wrong + tiles_weight * board.sums[TILES]
            if keep:
                # What was counted on the way is an estimate: nodes may still issue later, and links be shared better.
                guessed = _price(board.sums, tiles_weight)
                record.reward[b, count - 1] -= (min(np.float32(1e6), cost[b]) - guessed) / SCALE
    return len(heats)


@_fast
def _price(sums: Int32s, tiles_weight: float) -> float:
    """What a board has cost so far."""
    return float(sums[BOUND] + CLASH * (sums[CLASHES] + sums[MISSING]) + tiles_weight * sums[TILES])


@kernel
def look(
    tables: Tables,
    graph: BoardGraph,
    ii: int,
    given: Int32s,
    tiles_weight: float,
    rows: Floats,
    legal: Bools,
    seen: Floats,
) -> int:
    """Put the first nodes of the order into given slots and describe the next one; returns how many slots it has.

    For policies that are evaluated outside of compiled code. Costs as much as playing that far.
    """
    board, scratch = new_board(tables, len(graph.order), ii), new_scratch(tables)
    clear(tables, graph, board)
    for k in range(len(given)):
        put(tables, graph, ii, board, graph.order[k], given[k], scratch)
    n = graph.order[len(given)]
    found = describe(tables, graph, ii, board, n, scratch, rows, legal)
    survey(tables, graph, ii, board, n, tiles_weight, seen)
    return found
