"""The declaration of target streaming: what the rest of the package knows of it."""

from __future__ import annotations

from typing import Final

from gridloom.registry import ArrayKind, Command, Entry, Mapper, Target, entries

TARGET: Final = Target(
    name="streaming",
    summary="tiles in a row that issue one operation per spoke",
    kinds={
        "spokes": ArrayKind(
            "modulo",
            ("spokes",),
            "tiles with spokes such as streaming-engine",
            problem=("kernel:vector_add", "streaming-engine:8"),
        ),
    },
    archs={
        "streaming-engine": Entry(
            "gridloom.targets.streaming.families.streaming_engine:build", "modulo-scheduled row of tiles with spokes"
        ),
    },
    mappers={
        "anneal": Mapper(
            {"spokes": "gridloom.targets.streaming.mappers.anneal:anneal_spokes"},
            "simulated annealing of placements together with their routes",
            role="search",
        ),
        "exact": Mapper(
            {"spokes": "gridloom.targets.streaming.mappers.exact.mapper:exact_spokes"},
            "a mapping or a proof that there is none, by constraint solving (CP-SAT)",
            extra="exact",
            role="proof",
            without=("constant_stores",),
        ),
        "ppo": Mapper(
            {"spokes": "gridloom.targets.streaming.learned.mapper:ppo"},
            "a policy learned by reinforcement places the nodes, and annealing improves them",
        ),
        "spokes-random": Mapper(
            {"spokes": "gridloom.targets.streaming.mappers.random:spokes_random"},
            "the best of random placements, a reference",
        ),
    },
    models={
        "ppo": Entry(
            "gridloom.targets.streaming.learned.model:MODEL",
            "a policy that places nodes on a streaming engine",
            "learn",
        ),
    },
    suites=entries(
        "gridloom.targets.streaming:suites/{}.yaml",
        {
            "se-strict": "44 kernels and random graphs on streaming engines, at level strict",
            "se": "kernels and random graphs on a streaming engine, at both levels",
        },
    ),
    commands={
        "program": Command(
            "gridloom.targets.streaming.commands.program_command:program",
            "Map several flows with channels onto one array.",
            "examples/programs/newton.yaml --arch streaming-engine:16",
            "Map",
        ),
    },
    hooks={
        "passes": {"fuses": "gridloom.targets.streaming.fuse:fuse_for"},
        "pictures": {"spokes": "gridloom.targets.streaming.picture:spokes_picture"},
        "exports": {"spoke-ram": "gridloom.targets.streaming.spoke_ram:spoke_ram"},
    },
)
