"""Arrays: the model, the families, descriptions, the time-expanded resource graph."""

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
