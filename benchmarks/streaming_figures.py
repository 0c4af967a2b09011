"""What makes the learning of placements work: figures over several seeds, each with its command.

    python benchmarks/streaming_figures.py size      # graph attention beside MLPs, by number of nodes (figure 6)
    python benchmarks/streaming_figures.py ifft      # sample efficiency on the IFFT loop (figure 7)
    python benchmarks/streaming_figures.py order     # topological, reverse and random order, 15 nodes (figure 8)
    python benchmarks/streaming_figures.py masking   # illegal actions masked, or punished
    python benchmarks/streaming_figures.py reuse     # shipped weights as they are, fine-tuned, and from scratch

Policies are trained on one graph from scratch unless said otherwise. The files ppo-NAME.json and ppo-NAME.svg are
written into --folder, with what each curve still gains at its end (``gain``, from the last but one to the last fifth of
the iterations); --quick makes runs that are too short for conclusions.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from gridloom.emit.plots.chart import ticks
from gridloom.targets.streaming.learned.published.boards import BoardBatch, BoardOptions
from gridloom.targets.streaming.learned.published.ppo import PpoConfig, collect, improve
from gridloom.targets.streaming.learned.published.torch_policies import (
    Arrays,
    Policy,
    PublishedActor,
    StateMlp,
    make_policy,
)
from gridloom.targets.streaming.learned.published.training import load_policy
from gridloom.targets.streaming.learned.training_graphs import engine, problem_of
from gridloom.targets.streaming.mappers.problem import SpokesProblem

Curve = list[float]

#: The published actor, its baseline of MLPs, and a policy that sees described slots.
POLICIES = ("gga", "state", "attention")
COLOURS = ("#1b6ca8", "#c8553d", "#588157", "#8e6c8a")


@dataclass(frozen=True)
class Setting:
    """How long each run is and how many seeds it has."""

    iterations: int
    boards: int
    seeds: int


class Unmasked(StateMlp):
    """The state's MLPs without a mask: an illegal action is possible, and costs the penalty."""

    def observe(self, batch: BoardBatch) -> Arrays:
        """Return the published state with every slot allowed."""
        seen = super().observe(batch)
        seen["legal"] = np.tile(batch.running[:, None], (1, self.slots))
        seen["legal"][:, 0] = True
        return seen


def policy_for(kind: str, problem: SpokesProblem, ii: int) -> Policy:
    """Return a policy with random weights; those over the published state have the size of the problem."""
    sizes = {"slots": problem.tiles * ii, "nodes": problem.size}
    sized: dict[str, Callable[..., Policy]] = {"unmasked": Unmasked, "state": StateMlp, "gga": PublishedActor}
    return sized[kind](**sizes) if kind in sized else make_policy(kind)


def run(
    problem: SpokesProblem, policy: Policy, options: BoardOptions, s: Setting, seed: int, rate: float
) -> tuple[Curve, Curve]:
    """Return the mean cycles of each iteration over completed boards, and the fewest so far."""
    config = PpoConfig(rate=rate, graphs=1)
    optimiser = torch.optim.Adam(policy.parameters(), lr=rate)
    generator, rng = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    mean: Curve = []
    best: Curve = []
    for _ in range(s.iterations):
        episode = collect(policy, problem, options, s.boards, generator, config)
        mean.append(episode.cycles)
        least = float(episode.least) if episode.least > 0 else float("nan")
        best.append(float(np.nanmin([least, *best[-1:]])) if not np.isnan([least, *best[-1:]]).all() else float("nan"))
        improve(policy, optimiser, [episode], config, rng)
    return mean, best


def runs(
    source: str,
    tiles: int,
    kinds: dict[str, Callable[[SpokesProblem], Policy]],
    options: dict[str, BoardOptions],
    s: Setting,
) -> dict[str, list[tuple[Curve, Curve]]]:
    """Train every kind of policy with every seed and return the curves."""
    problem = problem_of(source, engine(tiles, 6))
    found: dict[str, list[tuple[Curve, Curve]]] = {}
    for name, make in kinds.items():
        for seed in range(s.seeds):
            torch.manual_seed(seed)
            found.setdefault(name, []).append(run(problem, make(problem), options[name], s, seed, 1e-3))
    return found


def fresh(kind: str) -> Callable[[SpokesProblem], Policy]:
    """Return a function that makes policies with random weights."""
    return lambda problem: policy_for(kind, problem, 6)


def size(s: Setting) -> tuple[dict[str, dict[str, Curve]], str]:
    """Return the best cycles after equal numbers of decisions, by number of nodes."""
    kinds = {name: fresh(name) for name in POLICIES}
    options = dict.fromkeys(kinds, BoardOptions(reward="bound"))
    rows: dict[str, dict[str, Curve]] = {name: {} for name in kinds}
    for nodes, tiles, inputs in ((10, 16, 4), (15, 16, 4), (20, 16, 4), (40, 64, 8), (50, 64, 8)):
        found = runs(
            f"kernel:random_growing,nodes={nodes},inputs={inputs},seed=1,domain=opaque", tiles, kinds, options, s
        )
        for name in kinds:
            rows[name][str(nodes)] = [best[-1] for _, best in found[name]]
    return rows, "nodes"


def curves(found: dict[str, list[tuple[Curve, Curve]]]) -> dict[str, dict[str, Curve]]:
    """Return iteration -> mean cycles of each seed."""
    return {
        name: {str(k + 1): [round(mean[k], 2) for mean, _ in seeds] for k in range(len(seeds[0][0]))}
        for name, seeds in found.items()
    }


def gains(data: dict[str, dict[str, Curve]]) -> dict[str, float]:
    """Return for each curve by how much its mean falls from the last but one to the last fifth, as a share."""
    found: dict[str, float] = {}
    for name, rows in data.items():
        means = [float(np.nanmean(row)) for row in rows.values() if not np.isnan(row).all()]
        fifth = max(1, len(means) // 5)
        before, last = np.mean(means[-2 * fifth : -fifth] or means), np.mean(means[-fifth:])
        found[name] = round(float(1 - last / before), 4)
    return found


def ifft(s: Setting) -> tuple[dict[str, dict[str, Curve]], str]:
    """Return the mean cycles by iteration on the IFFT loop."""
    kinds = {name: fresh(name) for name in POLICIES}
    options = dict.fromkeys(kinds, BoardOptions(reward="bound"))
    return curves(runs("kernel:ifft", 16, kinds, options, s)), "iteration"


def order(s: Setting) -> tuple[dict[str, dict[str, Curve]], str]:
    """Return the mean cycles by iteration for three orders of placement."""
    names = ("topological", "reverse", "random")
    kinds = {name: fresh("state") for name in names}
    options = {name: BoardOptions(order=name) for name in names}  # type: ignore[arg-type]
    return curves(
        runs("kernel:random_growing,nodes=15,inputs=4,seed=1,domain=opaque", 16, kinds, options, s)
    ), "iteration"


def masking(s: Setting) -> tuple[dict[str, dict[str, Curve]], str]:
    """Return the mean cycles by iteration with and without the mask."""
    kinds = {"masked": fresh("state"), "punished": fresh("unmasked")}
    options = dict.fromkeys(kinds, BoardOptions(penalty=20.0))
    return curves(
        runs("kernel:random_growing,nodes=15,inputs=4,seed=1,domain=opaque", 16, kinds, options, s)
    ), "iteration"


def reuse(s: Setting) -> tuple[dict[str, dict[str, Curve]], str]:
    """Return the mean cycles by iteration on an unseen graph, from shipped weights and from scratch.

    Iteration 1 is zero-shot.
    """
    kinds = {"shipped": lambda problem: load_policy(None, "ppo-attention"), "from scratch": fresh("attention")}
    options = dict.fromkeys(kinds, BoardOptions(reward="bound"))
    return curves(
        runs("kernel:random_growing,nodes=50,inputs=8,seed=1,domain=opaque", 64, kinds, options, s)
    ), "iteration"


@dataclass(frozen=True)
class Frame:
    """From values to pixels; cycles on a logarithmic axis where they span an order of magnitude."""

    xs: list[float]
    ys: list[float]
    log: bool

    def x(self, value: float) -> float:
        """Return pixels from the left."""
        return 64 + 440 * (value - self.xs[0]) / max(1e-9, self.xs[-1] - self.xs[0])

    def y(self, value: float) -> float:
        """Return pixels from the top."""
        low, high, here = (np.log(v) if self.log else v for v in (self.ys[0], self.ys[-1], value))
        return 322 - 266 * float((here - low) / (high - low))

    def at(self, x: float, y: float) -> str:
        """Return a point of a path."""
        return f"{self.x(x):.1f},{self.y(y):.1f}"


def frame(data: dict[str, dict[str, Curve]]) -> Frame:
    """Return axes with round numbers around all values."""
    values = [v for rows in data.values() for row in rows.values() for v in row if not np.isnan(v)]
    log = max(values) > 5 * min(values)
    marks = ticks(min(values), max(values))
    if log:
        steps = [m * 10**k for k in range(6) for m in (1, 2, 5)]
        first = max(k for k, step in enumerate(steps) if step <= min(values))
        marks = steps[first : 1 + min(k for k, step in enumerate(steps) if step >= max(values))]
    return Frame([float(x) for x in next(iter(data.values()))], [float(mark) for mark in marks], log)


def svg(data: dict[str, dict[str, Curve]], axis: str, title: str) -> str:
    """Return a chart with lines of means and the range of the seeds; the names are at the right."""
    f = frame(data)
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 380" font-family="sans-serif" font-size="13">',
        '<rect width="640" height="380" fill="white"/>',
        f'<text x="64" y="30" font-size="15">{title}</text><text x="284" y="366" text-anchor="middle">{axis}</text>',
        '<text x="16" y="189" transform="rotate(-90 16 189)" text-anchor="middle">'
        f"{'cycles, log' if f.log else 'cycles'}</text>",
    ]
    for mark in f.ys:
        y = f.y(mark)
        lines.append(f'<path d="M64,{y:.1f} H504" stroke="#ddd"/>')
        lines.append(f'<text x="56" y="{y + 4:.1f}" text-anchor="end" fill="#444">{mark:g}</text>')
    step = 10 ** int(np.log10(len(f.xs))) // 2 if len(f.xs) > 16 else 2
    for x in f.xs if len(f.xs) < 8 else [x for x in f.xs if x == 1 or x % step == 0]:
        lines.append(f'<text x="{f.x(x):.1f}" y="342" text-anchor="middle" fill="#444">{x:.0f}</text>')
    for k, (name, rows) in enumerate(data.items()):
        lines += _line(f, k, name, [(float(x), row) for x, row in rows.items() if not np.isnan(row).all()])
    return "\n".join([*lines, "</svg>", ""])


def _line(f: Frame, k: int, name: str, kept: list[tuple[float, Curve]]) -> list[str]:
    """Return one line with its band, its points where there are few, and its name."""
    upper = [f.at(x, float(np.nanmax(row))) for x, row in kept]
    lower = [f.at(x, float(np.nanmin(row))) for x, row in reversed(kept)]
    means = [(x, float(np.nanmean(row))) for x, row in kept]
    pen = f'fill="none" stroke="{COLOURS[k]}" stroke-width="2"' + (' stroke-dasharray="6 4"' if k % 2 else "")
    y = 66 + 24 * k
    lines = [
        f'<polygon points="{" ".join(upper + lower)}" fill="{COLOURS[k]}" opacity="0.15"/>',
        f'<polyline points="{" ".join(f.at(*point) for point in means)}" {pen}/>',
        f'<path d="M516,{y} h22" {pen}/><text x="544" y="{y + 4}" fill="{COLOURS[k]}">{name}</text>',
    ]
    if len(kept) < 8:
        lines += [f'<circle cx="{f.x(x):.1f}" cy="{f.y(m):.1f}" r="3" fill="{COLOURS[k]}"/>' for x, m in means]
    return lines


FIGURES = {
    "size": (size, Setting(100, 32, 3), "Fewest cycles after equal decisions, by size of graph"),
    "ifft": (ifft, Setting(240, 64, 3), "Mean cycles while learning to place the IFFT loop"),
    "order": (order, Setting(400, 64, 3), "Order of placement, 15 nodes on 16 tiles"),
    "masking": (masking, Setting(40, 64, 3), "Illegal slots masked, or punished; 15 nodes on 16 tiles"),
    "reuse": (reuse, Setting(8, 24, 3), "Weights of other graphs reused, 50 nodes on 64 tiles"),
}


def main() -> None:
    """Make one figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("figure", choices=[*FIGURES])
    parser.add_argument("--folder", type=Path, default=Path("."))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--redraw", action="store_true", help="only the picture, from the JSON file of an earlier run")
    args = parser.parse_args()
    torch.set_num_threads(1)
    make, setting, title = FIGURES[args.figure]
    args.folder.mkdir(parents=True, exist_ok=True)
    kept = args.folder / f"ppo-{args.figure}.json"
    if not args.redraw:
        setting = Setting(2, 8, 1) if args.quick else setting
        data, axis = make(setting)
        made = {"axis": axis, "iterations": setting.iterations, "boards": setting.boards, "data": data}
        if axis == "iteration":
            made["gain"] = gains(data)
        kept.write_text(json.dumps(made) + "\n", encoding="utf-8")
    read = json.loads(kept.read_text(encoding="utf-8"))
    picture = svg(read["data"], read["axis"], title)
    (args.folder / f"ppo-{args.figure}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
