"""A placement as VPR's ``.place`` file, for VPR to route or to begin from; ``frontend/placement.py`` reads it back."""

from __future__ import annotations

from collections.abc import Mapping

from gridloom.archs.model import Arch


def placement(place: Mapping[str, str], arch: Arch, *, netlist: str) -> str:
    """The text of a ``.place`` file: node -> tile name, in the coordinates of VPR's array with its empty ring.

    ``netlist`` is the name of the netlist that it belongs to. VPR compares its digest with the file's unless it is told
    not to (``--verify_file_digests off``).
    """
    lines = [
        f"Netlist_File: {netlist} Netlist_ID: none",
        f"Array size: {arch.cols + 2} x {arch.rows + 2} logic blocks",
        "",
        "#block name\tx\ty\tsubblk\tlayer\tblock number",
        "#----------\t--\t--\t------\t-----\t------------",
    ]
    for number, (node, tile) in enumerate(place.items()):
        record = arch.tiles[arch.tile_index[tile]]
        lines.append(f"{node}\t{record.col + 1}\t{record.row + 1}\t0\t0\t#{number}")
    return "\n".join([*lines, ""])
