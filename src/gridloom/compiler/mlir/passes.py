"""MLIR's own passes, in the order in which a module goes through them on its way to the LLVM dialect.

Nothing here makes loops better: clang does that afterwards, with the same passes as for C, so that one kernel written
in either language gives one graph.
"""

from __future__ import annotations

from typing import Any, Final

from gridloom.compiler.mlir.refusal import Refusal, from_diagnostics

#: Calls become the bodies that they call.
INLINE: Final = ("inline",)

#: Tensors become buffers; a result that is no parameter's buffer is a further parameter.
BUFFERS: Final = (
    "func.func(linalg-fuse-elementwise-ops)",
    "convert-tensor-to-linalg",
    "eliminate-empty-tensors",
    "func.func(empty-tensor-to-alloc-tensor)",
    "one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map}",
    "drop-equivalent-buffer-results",
    "buffer-results-to-out-params{hoist-static-allocs=1 modify-public-functions=1}",
    "canonicalize",
    "cse",
)

#: Ops on whole buffers and loops without an order become loops.
LOOPS: Final = (
    "func.func(linalg-generalize-named-ops)",
    "func.func(convert-linalg-to-loops)",
    "func.func(scf-forall-to-for)",
    "canonicalize",
)


def to_llvm(index_bits: int) -> tuple[str, ...]:
    """The passes from loops to the LLVM dialect, with an index of so many bits and buffers as bare pointers."""
    width = f"{{index-bitwidth={index_bits}}}"
    return (
        "expand-strided-metadata",
        "lower-affine",
        "func.func(arith-expand)",
        "convert-scf-to-cf",
        f"convert-index-to-llvm{width}",
        "convert-math-to-llvm",
        f"finalize-memref-to-llvm{width}",
        f"convert-arith-to-llvm{width}",
        f"convert-func-to-llvm{{use-bare-ptr-memref-call-conv=1 index-bitwidth={index_bits}}}",
        f"convert-cf-to-llvm{width}",
        "convert-ub-to-llvm",
        "reconcile-unrealized-casts",
    )


#: Instructions keep the lines of their ops.
LINES: Final = ("ensure-debug-info-scope-on-llvm-func",)


def run(module: Any, passes: tuple[str, ...]) -> None:
    """Run passes over a module. Refusal with MLIR's first complaint where one fails."""
    from torch_mlir import ir
    from torch_mlir.passmanager import PassManager

    manager = PassManager.parse(f"builtin.module({','.join(passes)})", module.context)
    try:
        manager.run(module.operation)
    except ir.MLIRError as error:
        raise from_diagnostics(error) from None
    except Exception as error:  # the bindings raise what nanobind makes of C++ errors
        raise Refusal(f"MLIR: {error}") from None
