"""The declaration of target rows: what the rest of the package knows of it."""

from __future__ import annotations

from typing import Final

from gridloom.registry import ArrayKind, Command, Entry, Mapper, Target

TARGET: Final = Target(
    name="rows",
    summary="rows of combinational ALUs over load and store ports",
    kinds={
        "rows": ArrayKind(
            "static", ("rows",), "rows of ALUs such as vpcma", problem=("kernel:vector_add", "vpcma:3x4")
        ),
    },
    archs={
        "vpcma": Entry(
            "gridloom.targets.rows.families.vpcma:build", "static rows of combinational ALUs with pipeline bits"
        ),
        "genmap": Entry("gridloom.targets.rows.families.genmap:build", "array that a GenMap XML file describes"),
    },
    mappers={
        "width": Mapper(
            {"rows": "gridloom.targets.rows.mappers.width:width"},
            "annealing of ops and routes for the fewest columns",
            role="search",
        ),
        "genetic": Mapper(
            {"rows": "gridloom.targets.rows.mappers.genetic:genetic"},
            "the published NSGA-II mapper, a reference",
            extra="genetic",
        ),
    },
    models={
        "mappability": Entry(
            "gridloom.targets.rows.learned.model:MODEL", "how many columns a graph needs on rows of ALUs", "learn"
        ),
    },
    commands={
        "mappability-figure": Command(
            "gridloom.targets.rows.commands.figure_command:mappability_figure",
            "Chart the mappable share of graphs by their size.",
            "--svg figure.svg",
            "Learn",
        ),
    },
    hooks={
        "array_files": {".xml": "gridloom.targets.rows.families.genmap:read_spec"},
        "rewrites": {"words24": "gridloom.targets.rows.words24.narrowing:narrow_loop"},
        "wires": {"rows": "gridloom.targets.rows.picture:RowWires"},
        "estimates": {"static": "gridloom.targets.rows.estimate"},
    },
)
