"""A small Morpher description in our own words, and ways to change it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

#: Descriptions of Morpher itself, where they are: tests that need them are skipped elsewhere.
FILES = Path(__file__).parents[5] / ".." / "shared" / "benchmarks" / "morpher"

OPS = dict.fromkeys(
    ("ADD", "SUB", "MUL", "DIV", "LS", "RS", "ARS", "AND", "OR", "XOR", "SELECT", "CMP", "CLT", "CGT", "OLOAD"), 1
)

DESCRIPTION: dict[str, Any] = {
    "DP": {"INPUTS": ["I1", "I2", "P"], "INTERNALS": ["T_INT"], "OUTPUTS": ["T"],
           "CONNECTIONS": {"THIS.T_INT": ["THIS.T"]}},
    "FU": {"INPUTS": ["A", "B", "P"], "OUTPUTS": ["Y"], "SUBMODS": {"DP": [{"name": "D"}]}, "OPS": OPS,
           "CONNECTIONS": {"THIS.A": ["D.I1"], "THIS.B": ["D.I2"], "THIS.P": ["D.P"], "D.T": ["THIS.Y"]}},
    "FU_MEM": {"INPUTS": ["A", "B", "P"], "OUTPUTS": ["Y"], "SUBMODS": {"DP": [{"name": "D"}]},
               "OPS": dict.fromkeys([*OPS, "LOAD", "STORE"], 2),
               "CONNECTIONS": {"THIS.A": ["D.I1"], "THIS.B": ["D.I2"], "THIS.P": ["D.P"], "D.T": ["THIS.Y"]}},
    "PE": {"INPUTS": ["W_I", "E_I"], "OUTPUTS": ["W_O", "E_O"], "REGS": ["WR", "ER", "TREG"],
           "INTERNALS": ["W_X", "E_X"], "SUBMODS": {"FU": [{"name": "F"}]},
           "CONNECTIONS": {
               "THIS.W_I": ["THIS.WR", "THIS.W_X"], "THIS.WR": ["THIS.W_X"],
               "THIS.E_I": ["THIS.ER", "THIS.E_X"], "THIS.ER": ["THIS.E_X"],
               "THIS.W_X": ["F.A", "F.B", "F.P", "THIS.E_O"], "THIS.E_X": ["F.A", "F.B", "F.P", "THIS.W_O"],
               "F.Y": ["THIS.W_O", "THIS.E_O", "THIS.TREG"],
               "THIS.TREG": ["F.A", "F.B", "F.P", "THIS.W_O", "THIS.E_O"]}},
    "CGRA": {"SUBMODS": [{
        "PATTERN": "GRID", "DIMS": {"X": 3, "Y": 1},
        "MODS": [{"X": 0, "Y": 0, "MOD": "PE_MEM"}, {"X": 1, "Y": 0, "MOD": "PE"}, {"X": 2, "Y": 0, "MOD": "PE"}],
        "CONNECTIONS": [
            {"FROM_X": "X", "FROM_Y": "Y", "FROM_PORT": "E_O", "TO_X": "X+1", "TO_Y": "Y", "TO_PORT": "W_I"},
            {"FROM_X": "X", "FROM_Y": "Y", "FROM_PORT": "W_O", "TO_X": "X-1", "TO_Y": "Y", "TO_PORT": "E_I"}]}]},
}  # fmt: skip
DESCRIPTION["PE_MEM"] = {**DESCRIPTION["PE"], "SUBMODS": {"FU_MEM": [{"name": "F"}]}}


def text(**changes: Any) -> str:
    """The description as JSON, with modules replaced; None takes one away."""
    modules = copy.deepcopy(DESCRIPTION)
    for name, module in changes.items():
        if module is None:
            del modules[name]
        else:
            modules[name] = {**modules.get(name, {}), **module}
    return json.dumps({"ARCH": modules})
