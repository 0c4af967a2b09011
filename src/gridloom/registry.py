"""One registry for everything that is looked up by name: mappers, array families, kernels, readers, suites, models.

An entry is a name and the place of an object (``"package.module:attribute"``); the module is imported when the
entry is first asked for, so that listing names costs nothing. A new algorithm adds one file and one line here.

The line of a mapper also declares which kinds of arrays it takes. ``auto``, ``portfolio``, ``gridloom list mappers``,
the refusals and the conformance test all derive from that declaration (see :mod:`gridloom.mappers.choice`).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Literal

from gridloom.errors import OptionError


@dataclass(frozen=True, slots=True)
class Entry:
    """What a name stands for: where the object is, and one line about it."""

    target: str
    summary: str
    extra: str | None = None

    def load(self) -> Any:
        """Import the module and return the object. Costs the import, once."""
        return _object_at(self.target)


@dataclass(frozen=True, slots=True)
class ArrayKind:
    """A kind of array that mappers take: its style, and the traits that such an array has (``archs/traits.py``)."""

    style: Literal["static", "modulo", "elastic"]
    traits: tuple[str, ...]
    #: What messages and listings call such arrays, in the plural.
    words: str
    #: Domains of the graphs that go onto such arrays.
    domains: tuple[str, ...] = ("i32", "f32", "cma24", "opaque")


GRID: Final = ArrayKind("static", ("grid",), "static grids such as mesh")
REGISTERS: Final = ArrayKind("modulo", ("registers",), "modulo-scheduled arrays with registers such as torus")
CROSSBARS: Final = ArrayKind("modulo", ("crossbars",), "modulo-scheduled arrays with crossbars such as hycube")
ROWS: Final = ArrayKind("static", ("rows",), "rows of ALUs such as vpcma")
SPOKES: Final = ArrayKind("modulo", ("spokes",), "tiles with spokes such as streaming-engine")
SWITCHES: Final = ArrayKind("elastic", ("switches",), "elastic arrays such as rdu", domains=("tensor",))

#: ``search``: ``auto`` takes the first one that suits the array. ``proof``: ``--prove`` takes it. ``named``: it runs
#: only where it is named. ``portfolio`` races the mappers that search and those that prove.
Role = Literal["search", "proof", "named"]


@dataclass(frozen=True, slots=True)
class Mapper:
    """A mapper: for each kind of array that it takes the place of the function, and one line about it."""

    takes: Mapping[ArrayKind, str]
    summary: str
    extra: str | None = None
    role: Role = "named"
    #: Traits of arrays that it does not take, whatever their kind.
    without: tuple[str, ...] = ()

    def load(self, kind: ArrayKind | None = None) -> Any:
        """The function for a kind of array; without one, the function of a mapper that has just one."""
        targets = set(self.takes.values()) if kind is None else {self.takes[kind]}
        if len(targets) != 1:
            raise LookupError(
                f"the mapper has a function for each of {', '.join(k.words for k in self.takes)}; name one"
            )
        return _object_at(targets.pop())


def _object_at(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


#: Draws a graph, an array or a mapping as SVG text. Notebooks ask the nouns for their picture (``_repr_svg_``), and
#: the nouns may not import what draws them: they find it by this name, when they are asked.
PICTURE: Final = Entry("gridloom.emit.picture.pictures:svg", "the picture of a graph, an array or a mapping")

REGISTRY: dict[str, dict[str, Any]] = {
    "archs": {
        "mesh": Entry("gridloom.archs.families.mesh:build", "static grid in which each tile has 4 neighbours"),
        "onehop": Entry("gridloom.archs.families.mesh:build", "static grid with neighbours at distance 1 and 2"),
        "chess": Entry(
            "gridloom.archs.families.mesh:build", "static grid in which cells with 4 and with 8 links alternate"
        ),
        "hex": Entry("gridloom.archs.families.mesh:build", "static grid in which each tile has 6 neighbours"),
        "torus": Entry("gridloom.archs.families.torus:build", "modulo-scheduled torus with register files"),
        **{
            f"ramp-{k}": Entry("gridloom.archs.families.torus:build", f"torus preset {k} of the RAMP evaluation")
            for k in range(1, 13)
        },
        "hycube": Entry(
            "gridloom.archs.families.hycube:build",
            "modulo-scheduled mesh of crossbars that pass several links per cycle",
        ),
        "vpcma": Entry("gridloom.archs.families.vpcma:build", "static rows of combinational ALUs with pipeline bits"),
        "streaming-engine": Entry(
            "gridloom.archs.families.streaming_engine:build", "modulo-scheduled row of tiles with spokes"
        ),
        "genmap": Entry("gridloom.archs.families.genmap:build", "array that a GenMap XML file describes"),
        "adres": Entry("gridloom.archs.classics:build", "8 x 8 array like ADRES, with a shared file in the first row"),
        "openedge-cgra": Entry("gridloom.archs.classics:build", "4 x 4 torus with a memory port for each column"),
        "morpher": Entry("gridloom.archs.morpher.array:build", "array that a Morpher JSON file describes"),
        "rdu": Entry("gridloom.archs.families.rdu:build", "elastic grid of compute and memory units"),
        "array": Entry("gridloom.archs.described.family:build", "array that is described tile by tile"),
    },
    "mappers": {
        "anneal": Mapper(
            {GRID: "gridloom.mappers.grid.anneal:anneal", SPOKES: "gridloom.mappers.spokes.anneal:anneal_spokes"},
            "simulated annealing of placements together with their routes",
            role="search",
        ),
        "modulo": Mapper(
            dict.fromkeys((REGISTERS, CROSSBARS), "gridloom.mappers.modulo.modulo:modulo"),
            "scheduling, placement and negotiated routing in one search",
            role="search",
        ),
        "width": Mapper(
            {ROWS: "gridloom.mappers.rows.width:width"},
            "annealing of ops and routes for the fewest columns",
            role="search",
        ),
        "dataflow": Mapper(
            {SWITCHES: "gridloom.mappers.elastic.dataflow:dataflow"},
            "annealing of pipelines with a cost model",
            role="search",
        ),
        "exact": Mapper(
            {
                GRID: "gridloom.mappers.grid.exact.search:exact_static",
                REGISTERS: "gridloom.mappers.modulo.exact.search:exact_modulo",
                SPOKES: "gridloom.mappers.spokes.exact.mapper:exact_spokes",
            },
            "a mapping or a proof that there is none, by constraint solving (CP-SAT)",
            "exact",
            role="proof",
            without=("constant_stores",),
        ),
        "portfolio": Mapper(
            dict.fromkeys((GRID, REGISTERS, CROSSBARS, ROWS, SPOKES, SWITCHES), "gridloom.mappers.portfolio:portfolio"),
            "a race of the mappers that suit the array; the best result wins",
        ),
        "neosa": Mapper({GRID: "gridloom.mappers.grid.neosa:neosa"}, "the published NeoSA placer, with our routes"),
        "divide": Mapper({GRID: "gridloom.mappers.grid.divide:divide"}, "recursive bisection, a reference placer"),
        "genetic-grid": Mapper(
            {GRID: "gridloom.mappers.grid.genetic:genetic_grid"}, "a genetic algorithm, a reference placer"
        ),
        "trees": Mapper(
            {GRID: "gridloom.mappers.grid.trees:trees"}, "complete binary trees by the H-tree or a compact layout"
        ),
        "ramp": Mapper(
            {REGISTERS: "gridloom.mappers.modulo.ramp.ramp:ramp"},
            "RAMP: modulo schedules, maximum cliques and routing strategies, a reference",
            without=("blocking", "partial", "banks", "constant_stores"),
        ),
        "regimap": Mapper(
            {REGISTERS: "gridloom.mappers.modulo.ramp.regimap:regimap"},
            "REGIMap: maximum cliques with the registers of a PE, a reference",
            without=("blocking", "partial", "banks", "constant_stores"),
        ),
        "memmap": Mapper(
            {REGISTERS: "gridloom.mappers.modulo.ramp.memmap:memmap"},
            "MEMMap: long dependences go through memory, a reference",
            without=("blocking", "partial", "banks", "constant_stores"),
        ),
        "genetic": Mapper(
            {ROWS: "gridloom.mappers.rows.genetic:genetic"}, "the published NSGA-II mapper, a reference", "genetic"
        ),
        "ppo": Mapper(
            {SPOKES: "gridloom.learn.placement.mapper:ppo"},
            "a policy learned by reinforcement places the nodes, and annealing improves them",
        ),
        "spokes-random": Mapper(
            {SPOKES: "gridloom.mappers.spokes.random:spokes_random"}, "the best of random placements, a reference"
        ),
    },
    "kernels": {
        "vector_add": Entry("gridloom.frontend.kernels.streams:VECTOR_ADD", "z = x + y"),
        "axpy": Entry("gridloom.frontend.kernels.streams:AXPY", "z = a x + y, on integers or single-precision numbers"),
        "distance": Entry("gridloom.frontend.kernels.streams:DISTANCE", "squared distance of two points"),
        "dot_product": Entry("gridloom.frontend.kernels.streams:DOT_PRODUCT", "running sum of x y"),
        "mul_add": Entry("gridloom.frontend.kernels.streams:MUL_ADD", "w = x y + z"),
        "stream_pair": Entry("gridloom.frontend.kernels.streams:STREAM_PAIR", "y[i] = 2 x[i+1] + 6 x[i]"),
        "tree_reduce": Entry("gridloom.frontend.kernels.trees:TREE_REDUCE", "full binary adder trees"),
        "tree_expand": Entry("gridloom.frontend.kernels.trees:TREE_EXPAND", "full binary trees that spread one input"),
        "map_reduce": Entry(
            "gridloom.frontend.kernels.trees:MAP_REDUCE", "adder tree with a chain of operations before each leaf"
        ),
        "matmul": Entry("gridloom.frontend.kernels.linear_algebra:MATMUL", "classic n x n matrix product"),
        "matmul_add": Entry("gridloom.frontend.kernels.linear_algebra:MATMUL_ADD", "matrix product with an addend"),
        "systolic_matmul": Entry(
            "gridloom.frontend.kernels.linear_algebra:SYSTOLIC_MATMUL", "rows times a matrix that the multipliers hold"
        ),
        "convolution": Entry("gridloom.frontend.kernels.linear_algebra:CONVOLUTION", "k x k window times weights"),
        "kmeans": Entry("gridloom.frontend.kernels.kmeans:KMEANS", "index of the nearest of k centroids"),
        "fir": Entry("gridloom.frontend.kernels.signal:FIR", "finite impulse response filter"),
        "iir": Entry("gridloom.frontend.kernels.signal:IIR", "infinite impulse response filter of order 1 or 2"),
        "moving_average": Entry("gridloom.frontend.kernels.signal:MOVING_AVERAGE", "mean of the last samples"),
        "fft_radix2": Entry("gridloom.frontend.kernels.transforms:FFT_RADIX2", "radix-2 FFT butterfly"),
        "fft_radix4": Entry("gridloom.frontend.kernels.transforms:FFT_RADIX4", "radix-4 FFT butterfly"),
        "ifft": Entry("gridloom.frontend.kernels.transforms:IFFT", "inner loop of an IFFT stage, in memory"),
        "ifft_two_loop": Entry(
            "gridloom.frontend.kernels.transforms:IFFT_TWO_LOOP", "both inner loops of an IFFT stage, in memory"
        ),
        "dct4": Entry("gridloom.frontend.kernels.transforms:DCT4", "4-point DCT"),
        "dct8": Entry("gridloom.frontend.kernels.transforms:DCT8", "8-point DCT"),
        "idct8": Entry("gridloom.frontend.kernels.media:IDCT8", "8-point inverse DCT"),
        "horner_bezier": Entry("gridloom.frontend.kernels.media:HORNER_BEZIER", "point of a Bezier curve"),
        "bmp_header": Entry("gridloom.frontend.kernels.media:BMP_HEADER", "bytes of the header of a BMP file"),
        "gray": Entry("gridloom.frontend.kernels.image:GRAY_KERNEL", "luma of an RGB pixel"),
        "rgb_to_ycc": Entry("gridloom.frontend.kernels.image:RGB_TO_YCC", "RGB to luma and chroma"),
        "sepia": Entry("gridloom.frontend.kernels.image:SEPIA_KERNEL", "sepia tone of a pixel"),
        "alpha_blend": Entry("gridloom.frontend.kernels.image:ALPHA_BLEND", "front over back by alpha"),
        "sobel": Entry("gridloom.frontend.kernels.image:SOBEL", "edge strength over three rows"),
        "aes_column": Entry("gridloom.frontend.kernels.crypto:AES_COLUMN", "MixColumns of AES"),
        "md5_step": Entry("gridloom.frontend.kernels.crypto:MD5_STEP", "steps of MD5"),
        "sorting_network": Entry("gridloom.frontend.kernels.sorting:SORTING_NETWORK", "sorting networks side by side"),
        "sha1_step": Entry("gridloom.frontend.kernels.crypto:SHA1_STEP", "steps of SHA-1"),
        "crc32": Entry("gridloom.frontend.kernels.loops:CRC32", "CRC-32 of a stream of bytes"),
        "bitcount": Entry("gridloom.frontend.kernels.loops:BITCOUNT", "ones in each word of an array"),
        "string_search": Entry("gridloom.frontend.kernels.loops:STRING_SEARCH", "position of a pattern in a text"),
        "isqrt": Entry("gridloom.frontend.kernels.loops:ISQRT", "integer square roots of an array"),
        "adpcm": Entry("gridloom.frontend.kernels.speech:ADPCM", "IMA ADPCM encoder step"),
        "gsm_ltp": Entry("gridloom.frontend.kernels.speech:GSM_LTP", "GSM long-term predictor"),
        "gemm": Entry("gridloom.frontend.kernels.polybench:GEMM", "C = alpha A B + beta C"),
        "syrk": Entry("gridloom.frontend.kernels.polybench:SYRK", "C = alpha A A' + beta C"),
        "atax": Entry("gridloom.frontend.kernels.polybench:ATAX", "y += A' tmp"),
        "bicg": Entry("gridloom.frontend.kernels.polybench:BICG", "s += A' r, q = A p"),
        "mvt": Entry("gridloom.frontend.kernels.polybench:MVT", "x1 += A y1, x2 += A' y2"),
        "jacobi": Entry("gridloom.frontend.kernels.polybench:JACOBI", "Jacobi stencil in 1 or 2 dimensions"),
        "random_layered": Entry(
            "gridloom.frontend.kernels.random_graphs:RANDOM_LAYERED", "random graph in layers, from a seed"
        ),
        "random_growing": Entry(
            "gridloom.frontend.kernels.random_graphs:RANDOM_GROWING", "random growing network, from a seed"
        ),
        "random_series_parallel": Entry(
            "gridloom.frontend.kernels.random_graphs:RANDOM_SERIES_PARALLEL",
            "random series-parallel graph, from a seed",
        ),
        "cma_aes": Entry("gridloom.frontend.kernels.cma:CMA_AES", "AES column on 24-bit words"),
        "cma_radix4_fft": Entry("gridloom.frontend.kernels.cma:CMA_RADIX4_FFT", "radix-4 butterfly on 24-bit words"),
        "cma_rgb_to_ycc": Entry(
            "gridloom.frontend.kernels.cma:CMA_RGB_TO_YCC", "packed RGB to packed YCC on 24-bit words"
        ),
        "cma_dct8": Entry("gridloom.frontend.kernels.cma:CMA_DCT8", "8-point DCT of pixels on 24-bit words"),
        "cma_md5": Entry("gridloom.frontend.kernels.cma:CMA_MD5", "first round of MD5 scaled to 24-bit words"),
        **{
            f"neosa-{name}": Entry(f"gridloom.frontend.kernels.neosa:{name}", f"{name} of the NeoSA evaluation")
            for name in (
                "tree_n_15_t_1",
                "tree_n_31_t_1",
                "tree_n_63_t_1",
                "tree_n_127_t_1",
                "tree_n_15_t_2",
                "tree_n_31_t_2",
                "tree_n_63_t_2",
                "tree_n_15_t_3",
                "tree_n_31_t_3",
                "tree_n_15_t_4",
                "tree_n_31_t_4",
                "matmul22",
                "matmul33",
                "matmul44",
                "matmul55",
                "matmul66",
                "matmul22normal",
                "convolution22",
                "convolution33",
                "convolution44",
                "convolution55",
                "tree_n_15_t_1_r_3",
                "tree_n_31_t_1_r_3",
                "tree_n_63_t_1_r_3",
                "tree_n_15_t_2_r_3",
                "tree_n_31_t_2_r_3",
                "tree_n_15_t_3_r_3",
                "tree_n_15_t_4_r_3",
                "K4N4",
                "K4N5",
                "K4N6",
                "K4N7",
                "K4N8",
                "K5N4",
                "K6N4",
                "K7N4",
                "K8N4",
            )
        },
    },
    "costs": {
        "heuristic": Entry(
            "gridloom.estimate.heuristic:heuristic", "a rule for each operation, the peak rate of each link"
        ),
        "tuned": Entry("gridloom.estimate.tuned:tuned", "rules whose numbers were fitted to measurements"),
        "wirelength": Entry("gridloom.estimate.wirelength:wirelength", "the mean length of the routes"),
        "bottleneck": Entry("gridloom.estimate.bottleneck:bottleneck", "the busiest link or the slowest round trip"),
        "queueing": Entry("gridloom.estimate.queueing:queueing", "bottleneck, with waits where flows meet"),
        "closed_form": Entry("gridloom.estimate.closed_form:closed_form", "the slowest round trip of packets decides"),
        "learned": Entry("gridloom.learn.cost_model.inference:learned", "boosted trees, trained on simulations"),
        "simulated": Entry("gridloom.flow.tensor.simulated_cost:simulated", "every decision is measured by simulation"),
    },
    "networks": {
        "gemm": Entry("gridloom.frontend.tensor.networks:GEMM", "one matrix product with weights"),
        "mlp": Entry("gridloom.frontend.tensor.networks:MLP", "linear layers with ReLU between them"),
        "ffn": Entry("gridloom.frontend.tensor.networks:FFN", "the feed-forward part of a transformer block"),
        "mha": Entry("gridloom.frontend.tensor.networks:MHA", "multi-head attention with its projections"),
        "encoder": Entry("gridloom.frontend.tensor.networks:ENCODER", "one transformer block"),
        "bert_large": Entry(
            "gridloom.frontend.tensor.networks:BERT_LARGE", "24 transformer blocks with 1,024 features and 16 heads"
        ),
        "gpt2_xl": Entry(
            "gridloom.frontend.tensor.networks:GPT2_XL", "48 transformer blocks with 1,600 features and 25 heads"
        ),
    },
    "readers": {
        "json": Entry("gridloom.frontend.graphs.json_graph:read", "graphs that gridloom wrote: *.json"),
        "dot": Entry(
            "gridloom.frontend.graphs.dot:read",
            "Graphviz files of NeoSA, GenMap, CGRA-Bench, elastic_cgra_mapper: *.dot, *.gv",
        ),
        "ccf": Entry("gridloom.frontend.graphs.ccf:read", "loops of CCF and RAMP: *_node.txt with *_edge.txt"),
        "satmapit": Entry("gridloom.frontend.graphs.satmapit:read", "loops of SAT-MapIt: *_nodes with *_edges"),
        "morpher": Entry("gridloom.frontend.graphs.morpher:read", "graphs of Morpher: *.xml"),
        "c": Entry("gridloom.frontend.c:read", "a loop of a C file: *.c, or FILE.c:FUNCTION,key=value,...", "c"),
        "mlir": Entry(
            "gridloom.frontend.c:read", "a loop of an MLIR file: *.mlir, or FILE.mlir:FUNCTION,key=value,...", "mlir"
        ),
        "python": Entry(
            "gridloom.frontend.python.kernel:read", "a function with @gridloom.kernel: *.py, or FILE.py:FUNCTION"
        ),
        "onnx": Entry("gridloom.frontend.tensor.onnx_file:read", "neural networks: *.onnx", "tensor"),
        "e2emap": Entry(
            "gridloom.frontend.graphs.e2emap:read", "kernels of E2EMap, lines of values with commas: *.txt"
        ),
    },
    "suites": {
        "se-strict": Entry(
            "gridloom.flow.bench.suite:built_in", "44 kernels and random graphs on streaming engines, at level strict"
        ),
        "se": Entry(
            "gridloom.flow.bench.suite:built_in", "kernels and random graphs on a streaming engine, at both levels"
        ),
        "functions": Entry(
            "gridloom.flow.bench.suite:built_in", "34 whole C functions on two torus arrays, compared with compiled C"
        ),
        "smoke": Entry("gridloom.flow.bench.suite:built_in", "ten small kernels on the four static grids"),
        "neosa": Entry(
            "gridloom.flow.bench.suite:built_in", "37 graphs on the smallest square of each static topology"
        ),
        "neosa-reconvergent": Entry(
            "gridloom.flow.bench.suite:built_in", "the 15 graphs of neosa that are not forests"
        ),
        "neosa-files": Entry("gridloom.flow.bench.suite:built_in", "neosa with the published files"),
        "neosa-border": Entry("gridloom.flow.bench.suite:built_in", "neosa with inputs and results on the border"),
        "neosa-released": Entry(
            "gridloom.flow.bench.suite:built_in", "neosa-border by 1,000 instances of the released NeoSA schedule"
        ),
        "neosa-exact": Entry(
            "gridloom.flow.bench.suite:built_in", "neosa-border on the mesh by the first mapping of a solver", "exact"
        ),
        "neosa-multipliers": Entry(
            "gridloom.flow.bench.suite:built_in", "neosa-border with multipliers on some tiles only"
        ),
        "neosa-multipliers-any": Entry(
            "gridloom.flow.bench.suite:built_in", "neosa with multipliers on some tiles only"
        ),
        "c-loops": Entry("gridloom.flow.bench.suite:built_in", "the C loops of examples/kernels on a torus", "c"),
        "large": Entry("gridloom.flow.bench.suite:built_in", "loops of 120 to 4,000 operations on large tori", "c"),
        "panorama": Entry(
            "gridloom.flow.bench.suite:built_in", "seven large loops of Panorama, read from files, on two tori"
        ),
        "loops": Entry("gridloom.flow.bench.suite:built_in", "twenty kernels with carried values on ramp-1 to ramp-12"),
        "satmapit": Entry(
            "gridloom.flow.bench.suite:built_in", "five loops of SAT-MapIt, read from files, on four tori"
        ),
        "ccf": Entry("gridloom.flow.bench.suite:built_in", "loops extracted by CCF, read from files, on a 4x4 torus"),
        "morpher": Entry("gridloom.flow.bench.suite:built_in", "kernels of Morpher, read from files, on a 4x4 torus"),
        "e2emap": Entry("gridloom.flow.bench.suite:built_in", "kernels of E2EMap, read from files, on a 4x4 torus"),
        "cgra_bench": Entry(
            "gridloom.flow.bench.suite:built_in", "kernels of CGRA-Bench, read from files, on a 4x4 torus"
        ),
        "tensor": Entry("gridloom.flow.bench.suite:built_in", "built-in networks on a 16 x 8 dataflow grid"),
        "ucsb": Entry(
            "gridloom.flow.bench.suite:built_in", "ten published graphs, read from files, on the smallest squares"
        ),
        "ucsb-kernels": Entry(
            "gridloom.flow.bench.suite:built_in", "five kernels like graphs of ucsb that are not among its files"
        ),
    },
    "models": {
        "ppo": Entry(
            "gridloom.learn.placement.model:MODEL", "a policy that places nodes on a streaming engine", "learn"
        ),
        "mappability": Entry(
            "gridloom.learn.mappability.model:MODEL", "how many columns a graph needs on rows of ALUs", "learn"
        ),
        "initiation": Entry(
            "gridloom.learn.initiation.model:MODEL", "which II a loop reaches on a modulo-scheduled array", "learn"
        ),
        "cost-model": Entry(
            "gridloom.learn.cost_model.model:MODEL", "how efficient a placement on a dataflow grid is", "learn"
        ),
    },
}


def names(group: str) -> list[str]:
    """The names of a group, in registration order."""
    return list(_group(group))


def entry(group: str, name: str) -> Any:
    """The Entry (or Mapper) of a name; an unknown name is an OptionError that suggests the nearest ones."""
    entries = _group(group)
    if name in entries:
        return entries[name]
    near = difflib.get_close_matches(name, entries, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(entries) or 'none'}"
    raise OptionError(f"no {group.removesuffix('s')} is called {name!r}; {hint}")


def load(group: str, name: str) -> Any:
    """The object that a name stands for."""
    return entry(group, name).load()


def _group(group: str) -> dict[str, Any]:
    if group not in REGISTRY:
        raise OptionError(f"there is no list of {group!r}; known: {', '.join(REGISTRY)}")
    return REGISTRY[group]
