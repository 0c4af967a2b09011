"""The declaration of target modulo: what the rest of the package knows of it."""

from __future__ import annotations

from typing import Final

from gridloom.registry import ArrayKind, Entry, Mapper, Target, entries

TARGET: Final = Target(
    name="modulo",
    summary="modulo-scheduled arrays whose tiles are shared in time",
    traits={
        "instructions": (
            "Tiles run the instructions of OpenEdgeCGRA: few ops, one immediate and one register for each instruction, "
            "byte addresses, and a loop that counts and branches by ops of its own."
        ),
    },
    kinds={
        "registers": ArrayKind(
            "modulo",
            ("registers",),
            "modulo-scheduled arrays with registers such as torus",
            problem=("kernel:vector_add", "torus:3x3,regs=4"),
        ),
        "crossbars": ArrayKind(
            "modulo",
            ("crossbars",),
            "modulo-scheduled arrays with crossbars such as hycube",
            problem=("kernel:vector_add", "hycube:3x3"),
        ),
    },
    archs={
        **entries(
            "gridloom.targets.modulo.families.torus:build",
            {"torus": "modulo-scheduled torus with register files"}
            | {f"ramp-{k}": f"torus preset {k} of the RAMP evaluation" for k in range(1, 13)},
        ),
        **entries(
            "gridloom.targets.modulo.families.hycube:build",
            {"hycube": "modulo-scheduled mesh of crossbars that pass several links per cycle"},
        ),
        **entries(
            "gridloom.targets.modulo.families.classics:build",
            {"adres": "8 x 8 array like ADRES, with a shared file in the first row"},
        ),
        "openedge-cgra": Entry(
            "gridloom.targets.modulo.families.openedge:build", "OpenEdgeCGRA, a 4 x 4 torus of 32-bit instructions"
        ),
        "morpher": Entry(
            "gridloom.targets.modulo.families.morpher.array:build", "array that a Morpher JSON file describes"
        ),
    },
    mappers={
        "modulo": Mapper(
            {
                "registers": "gridloom.targets.modulo.mappers.modulo:modulo",
                "crossbars": "gridloom.targets.modulo.mappers.modulo:modulo",
            },
            "scheduling, placement and negotiated routing in one search",
            role="search",
        ),
        "exact": Mapper(
            {"registers": "gridloom.targets.modulo.mappers.exact.search:exact_modulo"},
            "a mapping or a proof that there is none, by constraint solving (CP-SAT)",
            extra="exact",
            role="proof",
            without=("constant_stores", "flags"),
        ),
        "ramp": Mapper(
            {"registers": "gridloom.targets.modulo.mappers.ramp.ramp:ramp"},
            "RAMP: modulo schedules, maximum cliques and routing strategies, a reference",
            without=("blocking", "partial", "banks", "constant_stores"),
        ),
        "regimap": Mapper(
            {"registers": "gridloom.targets.modulo.mappers.ramp.regimap:regimap"},
            "REGIMap: maximum cliques with the registers of a PE, a reference",
            without=("blocking", "partial", "banks", "constant_stores"),
        ),
        "memmap": Mapper(
            {"registers": "gridloom.targets.modulo.mappers.ramp.memmap:memmap"},
            "MEMMap: long dependences go through memory, a reference",
            without=("blocking", "partial", "banks", "constant_stores"),
        ),
    },
    models={
        "initiation": Entry(
            "gridloom.targets.modulo.learned.model:MODEL",
            "which II a loop reaches on a modulo-scheduled array",
            "learn",
        ),
    },
    suites=entries(
        "gridloom.targets.modulo:suites/{}.yaml",
        {
            "functions": "34 whole C functions on two torus arrays, compared with compiled C",
            "c-loops": ("the C loops of examples/kernels on a torus", "c"),
            "large": ("loops of 120 to 4,000 operations on large tori", "c"),
            "c-large": ("C loops of 100 to 300 operations on two tori", "c"),
            "panorama": "seven large loops of Panorama, read from files, on two tori",
            "loops": "twenty kernels with carried values on ramp-1 to ramp-12",
            "satmapit": "five loops of SAT-MapIt, read from files, on four tori",
            "ccf": "loops extracted by CCF, read from files, on a 4x4 torus",
            "morpher": "kernels of Morpher, read from files, on a 4x4 torus",
            "e2emap": "kernels of E2EMap, read from files, on a 4x4 torus",
            "cgra_bench": "kernels of CGRA-Bench, read from files, on a 4x4 torus",
        },
    ),
    hooks={
        "array_files": {".json": "gridloom.targets.modulo.families.morpher.array:read_spec"},
        "estimates": {"modulo": "gridloom.targets.modulo.estimate"},
        "passes": {"instructions": "gridloom.targets.modulo.export.openedge.lowering:lower"},
        "rules": {"instructions": "gridloom.targets.modulo.rules.openedge:RULES"},
        "objectives": {"instructions": "gridloom.targets.modulo.export.openedge.objective"},
        "importers": {
            "neura": "gridloom.targets.modulo.foreign.neura:read",
            "satmapit": "gridloom.targets.modulo.foreign.satmapit:read",
        },
        "emitters": {"openedge": "gridloom.targets.modulo.export.openedge.package:package"},
    },
)
