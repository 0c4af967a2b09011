"""The declaration of target dataflow: what the rest of the package knows of it."""

from __future__ import annotations

from typing import Final

from gridloom.registry import ArrayKind, Entry, Mapper, Reader, Target

TARGET: Final = Target(
    name="dataflow",
    summary="elastic grids of compute and memory units that exchange tokens",
    kinds={
        "switches": ArrayKind(
            "elastic",
            ("switches",),
            "elastic arrays such as rdu",
            domains=("tensor",),
            problem=("model:gemm,inner=64,columns=64", "rdu:4x4"),
            classes=("gemm", "vector", "buffer", "dram"),
        ),
    },
    archs={
        "rdu": Entry("gridloom.targets.dataflow.families.rdu:build", "elastic grid of compute and memory units"),
    },
    mappers={
        "dataflow": Mapper(
            {"switches": "gridloom.targets.dataflow.mappers.dataflow:dataflow"},
            "annealing of pipelines with a cost model",
            role="search",
        ),
    },
    readers={
        "onnx": Reader(
            "gridloom.targets.dataflow.frontend.onnx_file:read", "neural networks: *.onnx", "tensor", endings=(".onnx",)
        ),
    },
    costs={
        "heuristic": Entry(
            "gridloom.targets.dataflow.costs.formulas:Heuristic",
            "a rule for each operation, the peak rate of each link",
        ),
        "tuned": Entry(
            "gridloom.targets.dataflow.costs.formulas:Tuned", "rules whose numbers were fitted to measurements"
        ),
        "wirelength": Entry("gridloom.targets.dataflow.costs.formulas:Wirelength", "the mean length of the routes"),
        "bottleneck": Entry(
            "gridloom.targets.dataflow.costs.bottleneck:Bottleneck", "the busiest link or the slowest round trip"
        ),
        "queueing": Entry(
            "gridloom.targets.dataflow.costs.queueing:Queueing", "bottleneck, with waits where flows meet"
        ),
        "closed_form": Entry(
            "gridloom.targets.dataflow.costs.formulas:ClosedForm", "the slowest round trip of packets decides"
        ),
        "learned": Entry(
            "gridloom.targets.dataflow.learned.inference:learned_cost", "boosted trees, trained on simulations"
        ),
        "simulated": Entry(
            "gridloom.targets.dataflow.costs.simulated:Simulated", "every decision is measured by simulation"
        ),
    },
    networks={
        "gemm": Entry("gridloom.targets.dataflow.frontend.networks:GEMM", "one matrix product with weights"),
        "mlp": Entry("gridloom.targets.dataflow.frontend.networks:MLP", "linear layers with ReLU between them"),
        "ffn": Entry("gridloom.targets.dataflow.frontend.networks:FFN", "the feed-forward part of a transformer block"),
        "mha": Entry("gridloom.targets.dataflow.frontend.networks:MHA", "multi-head attention with its projections"),
        "encoder": Entry("gridloom.targets.dataflow.frontend.networks:ENCODER", "one transformer block"),
        "bert_large": Entry(
            "gridloom.targets.dataflow.frontend.networks:BERT_LARGE",
            "24 transformer blocks with 1,024 features and 16 heads",
        ),
        "gpt2_xl": Entry(
            "gridloom.targets.dataflow.frontend.networks:GPT2_XL",
            "48 transformer blocks with 1,600 features and 25 heads",
        ),
    },
    models={
        "cost-model": Entry(
            "gridloom.targets.dataflow.learned.model:MODEL", "how efficient a placement on a dataflow grid is", "learn"
        ),
    },
    suites={
        "tensor": Entry("gridloom.targets.dataflow:suites/tensor.yaml", "built-in networks on a 16 x 8 dataflow grid"),
    },
    hooks={
        "graphs": {"tensor": "gridloom.targets.dataflow.program.model:GRAPHS"},
        "programs": {"tensor": "gridloom.targets.dataflow.sections.run:cut_program"},
        "rules": {"elastic": "gridloom.targets.dataflow.rules.elastic:RULES"},
        "machines": {"elastic": "gridloom.targets.dataflow.machine.run:simulate_elastic"},
        "traces": {"elastic": "gridloom.targets.dataflow.report.tokens:record"},
        "report_cards": {"switches": "gridloom.targets.dataflow.sections.cold_start:report_card"},
        "explanations": {"switches": "gridloom.targets.dataflow.report.load:dataflow_load"},
        "cost_samples": {"switches": "gridloom.targets.dataflow.sample:sample_decisions"},
        "python_modules": {"torch": "gridloom.targets.dataflow.frontend.torch_module"},
    },
)
