"""The declaration of target grid: what the rest of the package knows of it."""

from __future__ import annotations

from typing import Final

from gridloom.registry import ArrayKind, Command, Mapper, Target, entries

TARGET: Final = Target(
    name="grid",
    summary="static grids in which a tile runs one operation for the whole loop",
    kinds={
        "grid": ArrayKind(
            "static", ("grid",), "static grids such as mesh", problem=("kernel:tree_reduce,nodes=7", "mesh:4x4")
        ),
    },
    archs=entries(
        "gridloom.targets.grid.families.mesh:build",
        {
            "mesh": "static grid in which each tile has 4 neighbours",
            "onehop": "static grid with neighbours at distance 1 and 2",
            "chess": "static grid in which cells with 4 and with 8 links alternate",
            "hex": "static grid in which each tile has 6 neighbours",
        },
    ),
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
    hooks={"passes": {"grid": "gridloom.targets.grid.systolic:fit"}},
    suites=entries(
        "gridloom.targets.grid:suites/{}.yaml",
        {
            "smoke": "ten small kernels on the four static grids",
            "neosa": "37 graphs on the smallest square of each static topology",
            "neosa-reconvergent": "the 15 graphs of neosa that are not forests",
            "neosa-files": "neosa with the published files",
            "neosa-border": "neosa with inputs and results on the border",
            "neosa-released": "neosa-border by 1,000 instances of the released NeoSA schedule",
            "neosa-exact": ("neosa-border on the mesh by the first mapping of a solver", "exact"),
            "neosa-multipliers": "neosa-border with multipliers on some tiles only",
            "neosa-multipliers-any": "neosa with multipliers on some tiles only",
            "ucsb": "ten published graphs, read from files, on the smallest squares",
            "ucsb-kernels": "five kernels like graphs of ucsb that are not among its files",
        },
    ),
    commands={
        "vpr": Command(
            "gridloom.targets.grid.commands.vpr_command:vpr",
            "Write files for VPR, and compare its placements.",
            "kernel:fir --arch mesh:8x8 -o vpr",
            "Hardware",
        ),
    },
)
