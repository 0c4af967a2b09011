"""The placement environments: gymnasium's own checks, rewards, masks, orders, partial placements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from gridloom.compiler.source import load_source  # noqa: E402
from gridloom.dfg.model import Dfg  # noqa: E402
from gridloom.errors import OptionError  # noqa: E402
from gridloom.targets.streaming.learned.published.boards import BoardBatch, BoardOptions  # noqa: E402
from gridloom.targets.streaming.learned.published.env import StreamingEnv, StreamingVectorEnv, make_problem  # noqa: E402
from gridloom.targets.streaming.learned.published.kernel import COMPLETE, RUNNING, STUCK  # noqa: E402
from gridloom.targets.streaming.mappers.mapping import realise, to_mapping  # noqa: E402
from gridloom.targets.streaming.mappers.problem import SpokesProblem  # noqa: E402
from gridloom.verify import legal  # noqa: E402

ARCH = "streaming-engine:8,spokes=4,level=paper"
SOURCE = "kernel:random_growing,nodes=9,inputs=3,seed=7"


def played(
    options: BoardOptions, count: int = 64, source: str = SOURCE, seed: int = 0
) -> tuple[BoardBatch, np.ndarray]:
    """Random boards to their ends, and the sum of rewards of each."""
    batch = BoardBatch(make_problem(source, ARCH, options.ii), count, options, seed=seed)
    total = np.zeros(count)
    while batch.running.any():
        batch.step(batch.random_actions())
        total += batch.boards.reward
    return batch, total


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("order", ["topological", "reverse", "random"])
def test_gymnasium_accepts_the_environment(order: str) -> None:
    check_env(StreamingEnv(SOURCE, ARCH, BoardOptions(ii=4, order=order)), skip_render_check=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ["topological", "reverse", "random"])
def test_complete_board_is_a_legal_mapping_with_the_cycles_it_says(order: str) -> None:
    batch, _ = played(BoardOptions(ii=4, order=order))  # type: ignore[arg-type]
    boards, problem = batch.boards, batch.problem
    assert (boards.over == COMPLETE).any()
    for b in np.flatnonzero(boards.over == COMPLETE)[:8]:
        placement = realise(problem, 4, boards.tile[b], boards.spoke[b])
        assert placement is not None
        assert placement.cycles == boards.cycles[b]
        assert placement.issue.tolist() == boards.issue[b].tolist()
        assert legal(to_mapping(problem, placement, {})) == []


@pytest.mark.parametrize("source", ["kernel:fir,taps=4", "kernel:dot_product,lanes=2", SOURCE])
def test_rewards_add_up_to_minus_the_cycles(source: str) -> None:
    batch, total = played(BoardOptions(ii=4), source=source)
    done = batch.boards.over == COMPLETE
    assert done.any()
    assert total[done].tolist() == (-batch.boards.cycles[done]).tolist()


def test_bound_rewards_add_up_to_the_cycles_above_the_longest_path() -> None:
    batch, total = played(BoardOptions(ii=4, reward="bound"))
    done = batch.boards.over == COMPLETE
    assert total[done].tolist() == (batch.floor - batch.boards.cycles[done]).tolist()


def test_latency_reward_charges_waiting() -> None:
    # One node after another on one tile: 3 cycles each without a wait.
    env = StreamingEnv("kernel:mul_add", ARCH, BoardOptions(ii=4, reward="latency"))
    env.reset(seed=0)
    assert env.step(2)[1] == -5.0


def test_tiles_in_use_cost_what_the_goal_says() -> None:
    batch, total = played(BoardOptions(ii=4, tiles_weight=2.0))
    done = batch.boards.over == COMPLETE
    used = (batch.boards.load > 0).sum(axis=1)
    assert np.allclose(total[done], -(batch.boards.cycles + 2.0 * used)[done])


def test_mask_is_what_the_checker_allows() -> None:
    env = StreamingEnv(SOURCE, ARCH, BoardOptions(ii=4))
    env.reset(seed=1)
    problem = env.problem
    rng = np.random.default_rng(3)
    for _ in range(problem.size):
        mask = env.action_masks()
        boards = env.batch.boards
        n = int(boards.order[0, boards.position[0]])
        conflicts = set(
            problem.tables.conflict[problem.tables.conflict_at[n] : problem.tables.conflict_at[n + 1]].tolist()
        )
        for slot in range(len(mask)):
            taken = boards.slots[0, slot] != 0
            beside = {m for m in range(problem.size) if boards.tile[0, m] == slot // 4}
            assert mask[slot] == (not taken and not (beside & conflicts))
        env.step(int(rng.choice(np.flatnonzero(mask))))
    assert env.batch.boards.over[0] == COMPLETE


class Oracle:
    """The rules of placement from the graph alone, node by node, in topological order; slow and plain."""

    def __init__(self, problem: SpokesProblem, ii: int) -> None:
        self.dfg, self.ii, self.tiles = problem.dfg, ii, problem.tiles
        self.names = [problem.name(n) for n in range(problem.size)]
        self.at: dict[str, tuple[int, int]] = {}
        self.edges = [e for e in self.dfg.edges if e.kind == "data" and {e.source, e.target} <= set(self.names)]
        self.now = [e for e in self.edges if e.distance == 0]

    def variables(self, name: str) -> set[str]:
        sources = [self.dfg.node(e.source) for e in self.dfg.edges if e.target == name]
        found = {node.variable or node.id for node in sources if node.op == "livein"}
        return found | ({self.dfg.node(name).variable or ""} - {""})

    def apart(self, a: str, b: str) -> bool:
        fed = {e.target for e in self.now}
        readers = [{e.target for e in self.now if e.source == p} for p in self.names]
        return {a, b}.isdisjoint(fed) or any({a, b} <= row for row in readers)

    def issue(self, name: str, tile: int, spoke: int, issues: dict[str, int]) -> int:
        due = [0]
        for e in self.edges:
            if e.target == name and e.source in self.at and e.source != name:
                way = abs(self.at[e.source][0] - tile)
                due.append(issues[e.source] + 3 + way - self.ii * e.distance)
        cycle = max(due)
        while cycle % self.ii != spoke:
            cycle += 1
        return cycle

    def issues(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for name in self.names:
            if name in self.at:
                found[name] = self.issue(name, *self.at[name], found | dict.fromkeys(self.at.keys() - found, -(10**6)))
        return found

    def legal(self, name: str, tile: int, spoke: int) -> bool:
        issues = self.issues()
        if (tile, spoke) in self.at.values():
            return False
        for other, (there, _) in self.at.items():
            if there == tile and self.apart(name, other):
                return False
            if there != tile and self.variables(name) & self.variables(other):
                return False
        cycle = self.issue(name, tile, spoke, issues)
        late = [e for e in self.edges if e.source == name and e.target in self.at]
        return all(
            cycle + 3 + abs(self.at[e.target][0] - tile) <= issues[e.target] + self.ii * e.distance for e in late
        )


def with_variables(source: str) -> Dfg:
    """The graph with a tile-memory variable that the third and the last op share."""
    dfg = load_source(source)
    ops = [k for k, node in enumerate(dfg.nodes) if node.op not in ("input", "output", "const", "livein")]
    shared = {ops[2], ops[-1]}
    nodes = (replace(node, variable="v") if k in shared else node for k, node in enumerate(dfg.nodes))
    return replace(dfg, nodes=tuple(nodes))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "graph",
    [SOURCE, with_variables(SOURCE), "kernel:ifft", "kernel:dot_product,lanes=3", "kernel:kmeans,k=2,n=2"],
    ids=["random", "variables", "ifft", "carried", "liveins"],
)
def test_boards_keep_the_rules_of_a_slow_oracle(graph: str | Dfg, seed: int) -> None:
    ii = 6
    problem = make_problem(graph, "streaming-engine:12,spokes=6,level=paper", ii)
    batch = BoardBatch(problem, 2, BoardOptions(ii=ii), seed=seed)
    oracles = [Oracle(problem, ii) for _ in range(2)]
    for _ in range(problem.size):
        before = batch.boards.cycles.copy()
        action = batch.random_actions()
        for b, oracle in enumerate(oracles):
            if batch.boards.over[b] != RUNNING:
                continue
            name = problem.name(int(batch.boards.node[b]))
            slots = [(t, s) for t in range(problem.tiles) for s in range(ii)]
            assert batch.boards.mask[b].tolist() == [oracle.legal(name, *slot) for slot in slots]
            oracle.at[name] = slots[action[b]]
        running = batch.boards.over == RUNNING
        batch.step(action)
        for b, oracle in enumerate(oracles):
            issues = oracle.issues()
            assert batch.boards.cycles[b] == max(issues.values()) + 3
            if running[b] and batch.boards.over[b] != STUCK:
                assert batch.boards.reward[b] == before[b] - batch.boards.cycles[b]
            assert [int(r) for r in batch.boards.ready[b]] == [
                issues[name] + 3 if name in issues else 0 for name in oracle.names
            ]


def test_illegal_action_costs_the_penalty_and_places_nothing() -> None:
    env = StreamingEnv("kernel:vector_add,lanes=2", ARCH, BoardOptions(ii=4, penalty=7.0))
    env.reset(seed=0)
    env.step(0)
    seen, reward, over, _, info = env.step(1)
    assert (reward, over, info["complete"], int(seen["node"])) == (-7.0, False, False, 1)


def test_board_with_only_illegal_actions_ends() -> None:
    env = StreamingEnv("kernel:vector_add,lanes=2", ARCH, BoardOptions(ii=4))
    env.reset(seed=0)
    env.step(0)
    for _ in range(100):
        if env.step(0)[2]:
            break
    assert env.batch.boards.over[0] == STUCK


def test_same_seed_gives_the_same_episodes() -> None:
    first, second = (played(BoardOptions(ii=4, order="random"), seed=5)[0].boards for _ in range(2))
    assert all((a == b).all() for a, b in zip(first, second))
    other = played(BoardOptions(ii=4, order="random"), seed=6)[0].boards
    assert (first.tile != other.tile).any()


def test_partial_placement_is_kept() -> None:
    env = StreamingEnv(SOURCE, ARCH, BoardOptions(ii=4))
    env.reset(seed=0, options={"placed": {"n_0": (3, 1), "n_8": (5, 2)}})
    rng = np.random.default_rng(0)
    steps, over = 0, False
    while not over:
        over = env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))[2]
        steps += 1
    number = env.problem.number
    boards = env.batch.boards
    assert steps == env.problem.size - 2
    assert [int(boards.tile[0, number[name]]) for name in ("n_0", "n_8")] == [3, 5]
    placement = realise(env.problem, 4, boards.tile[0], boards.spoke[0])
    assert placement is not None and placement.cycles == boards.cycles[0]


@pytest.mark.parametrize(
    ("placed", "message"),
    [
        ({"nobody": (0, 0)}, "has no node 'nobody' that needs a slot"),
        ({"n_0": (8, 0)}, "expected tile 0 to 7 and spoke 0 to 3, found 8, 0"),
        ({"n_0": (1, 0), "n_1": (1, 0)}, "is given twice"),
    ],
)
def test_partial_placement_that_cannot_be_is_named(placed: dict[str, tuple[int, int]], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        StreamingEnv(SOURCE, ARCH, BoardOptions(ii=4)).reset(options={"placed": placed})


def test_rivals_in_a_partial_placement_are_named() -> None:
    env = StreamingEnv("kernel:vector_add,lanes=3", ARCH, BoardOptions(ii=4))
    names = [env.problem.name(n) for n in range(2)]
    with pytest.raises(OptionError, match="need different tiles"):
        env.reset(options={"placed": {names[0]: (1, 0), names[1]: (1, 1)}})


def test_vector_environment_plays_what_single_ones_play() -> None:
    vector = StreamingVectorEnv(SOURCE, ARCH, 3, BoardOptions(ii=4))
    singles = [StreamingEnv(SOURCE, ARCH, BoardOptions(ii=4)) for _ in range(3)]
    seen, info = vector.reset(seed=0)
    for env in singles:
        env.reset(seed=0)
    rng = np.random.default_rng(1)
    for _ in range(vector.problem.size):
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in info["action_mask"]])
        seen, rewards, over, _, info = vector.step(actions)
        for k, env in enumerate(singles):
            alone = env.step(int(actions[k]))
            assert (alone[1], alone[2]) == (rewards[k], over[k])
            if not over[k]:
                assert (alone[0]["ready"] == seen["ready"][k]).all()
    assert over.all()
    assert (info["cycles"] == [env.batch.boards.cycles[0] for env in singles]).all()
    assert (seen["slots"] == 0).all()


def test_graph_that_cannot_be_placed_is_refused() -> None:
    with pytest.raises(OptionError, match="cannot be placed: nodes that start a synchronous flow"):
        StreamingEnv("kernel:vector_add,lanes=9", ARCH)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"ii": 0}, "ii: expected at least 1"), ({"reward": "gold"}, "reward: expected"), ({"order": "up"}, "order: ")],
)
def test_wrong_options_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        BoardOptions(**settings)  # type: ignore[arg-type]


def test_shortlist_holds_legal_slots_and_begins_with_the_soonest_on_the_shortest_path() -> None:
    batch = BoardBatch(make_problem(load_source(SOURCE), ARCH, 4), 4, BoardOptions(ii=4))
    while batch.running.any():
        actions, features, listed = batch.shortlist(16)
        for b in range(4):
            assert batch.boards.mask[b][actions[b][listed[b]]].all()
            assert len(set(actions[b][listed[b]].tolist())) == listed[b].sum()
            longest = features[b, listed[b], 3]
            assert (np.diff(longest) >= 0).all()
        batch.step(batch.random_actions())


def test_a_vector_environment_without_a_seed_goes_on_with_its_random_stream() -> None:
    def streams(*seeds: int | None) -> list[int]:
        env = StreamingVectorEnv(SOURCE, ARCH, 2, BoardOptions(ii=4))
        drawn = []
        for seed in seeds:
            env.reset(seed=seed)
            drawn.append(int(env.batch.rng.integers(1 << 62)))
        return drawn

    assert len({*streams(None, None), *streams(None)}) == 3
    first, *later = streams(0, None, None)
    assert len({first, *later}) == 3
    assert streams(0, None, None) == [first, *later]
    assert first == int(np.random.default_rng(0).integers(1 << 62))
