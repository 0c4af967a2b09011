"""The declaration of target grid: what the rest of the package knows of it."""

from __future__ import annotations

from typing import Final

from gridloom.registry import ArrayKind, Command, Entry, Mapper, Target

TARGET: Final = Target(
    name="grid",
    summary="static grids in which a tile runs one operation for the whole loop",
    kinds={
        "grid": ArrayKind(
            "static", ("grid",), "static grids such as mesh", problem=("kernel:tree_reduce,nodes=7", "mesh:4x4")
        ),
    },
    archs={
        "mesh": Entry("gridloom.targets.grid.families.mesh:build", "static grid in which each tile has 4 neighbours"),
        "onehop": Entry("gridloom.targets.grid.families.mesh:build", "static grid with neighbours at distance 1 and 2"),
        "chess": Entry(
            "gridloom.targets.grid.families.mesh:build", "static grid in which cells with 4 and with 8 links alternate"
        ),
        "hex": Entry("gridloom.targets.grid.families.mesh:build", "static grid in which each tile has 6 neighbours"),
    },
    mappers={
        "anneal": Mapper(
            {"grid": "gridloom.targets.grid.mappers.anneal:anneal"},
            "simulated annealing of placements together with their routes",
            role="search",
        ),
        "exact": Mapper(
            {"grid": "gridloom.targets.grid.mappers.exact.search:exact_static"},
            "a mapping or a proof that there is none, by constraint solving (CP-SAT)",
            extra="exact",
            role="proof",
            without=("constant_stores",),
        ),
        "neosa": Mapper(
            {"grid": "gridloom.targets.grid.mappers.neosa:neosa"}, "the published NeoSA placer, with our routes"
        ),
        "divide": Mapper(
            {"grid": "gridloom.targets.grid.mappers.divide:divide"}, "recursive bisection, a reference placer"
        ),
        "genetic-grid": Mapper(
            {"grid": "gridloom.targets.grid.mappers.genetic:genetic_grid"}, "a genetic algorithm, a reference placer"
        ),
        "trees": Mapper(
            {"grid": "gridloom.targets.grid.mappers.trees:trees"},
            "complete binary trees by the H-tree or a compact layout",
        ),
    },
    suites={
        "smoke": Entry("gridloom.targets.grid:suites/smoke.yaml", "ten small kernels on the four static grids"),
        "neosa": Entry(
            "gridloom.targets.grid:suites/neosa.yaml", "37 graphs on the smallest square of each static topology"
        ),
        "neosa-reconvergent": Entry(
            "gridloom.targets.grid:suites/neosa-reconvergent.yaml", "the 15 graphs of neosa that are not forests"
        ),
        "neosa-files": Entry("gridloom.targets.grid:suites/neosa-files.yaml", "neosa with the published files"),
        "neosa-border": Entry(
            "gridloom.targets.grid:suites/neosa-border.yaml", "neosa with inputs and results on the border"
        ),
        "neosa-released": Entry(
            "gridloom.targets.grid:suites/neosa-released.yaml",
            "neosa-border by 1,000 instances of the released NeoSA schedule",
        ),
        "neosa-exact": Entry(
            "gridloom.targets.grid:suites/neosa-exact.yaml",
            "neosa-border on the mesh by the first mapping of a solver",
            "exact",
        ),
        "neosa-multipliers": Entry(
            "gridloom.targets.grid:suites/neosa-multipliers.yaml", "neosa-border with multipliers on some tiles only"
        ),
        "neosa-multipliers-any": Entry(
            "gridloom.targets.grid:suites/neosa-multipliers-any.yaml", "neosa with multipliers on some tiles only"
        ),
        "ucsb": Entry(
            "gridloom.targets.grid:suites/ucsb.yaml", "ten published graphs, read from files, on the smallest squares"
        ),
        "ucsb-kernels": Entry(
            "gridloom.targets.grid:suites/ucsb-kernels.yaml",
            "five kernels like graphs of ucsb that are not among its files",
        ),
    },
    commands={
        "vpr": Command(
            "gridloom.targets.grid.commands.vpr_command:vpr",
            "Write files for VPR, and compare its placements.",
            after="system",
        ),
    },
)
