"""Arrays: the model, the families, descriptions, the time-expanded resource graph.

An array is a directed graph of resources with latencies (``model``). A description (``spec``: an ARCH string, a YAML
file or a dictionary) names a family, and the family's file under ``families/`` fills an ``ArchBuilder`` from the
description. ``unroll`` expands the graph over the II slots of a modulo schedule, and ``check`` says what is odd about
an array before anybody maps to it. Nothing outside this package asks which family an array is of: it reads the graph,
or asks for a trait (``traits``). The package imports ``gridloom.dfg.ops`` for the names of op classes and nothing else
of the graph side.
"""

from __future__ import annotations

from gridloom.archs.check import check_arch
from gridloom.archs.model import ISSUE_KINDS, Arch, ArchBuilder, Kind, Pool, RegisterFile, Setting, Tile
from gridloom.archs.spec import build, load_yaml, parse_string
from gridloom.archs.traits import TRAITS
from gridloom.archs.unroll import ResourceGraph, check_settings

__all__ = [
    "ISSUE_KINDS",
    "TRAITS",
    "Arch",
    "ArchBuilder",
    "Kind",
    "Pool",
    "RegisterFile",
    "ResourceGraph",
    "Setting",
    "Tile",
    "build",
    "check_arch",
    "check_settings",
    "load_yaml",
    "parse_string",
]
