"""The declaration of what belongs to no target: described arrays, the portfolio, kernels, readers and commands."""

from __future__ import annotations

from typing import Final

from gridloom.registry import Command, Entry, Mapper, Reader, Target

#: The graphs of the NeoSA evaluation.
_NEOSA: Final = (
    "tree_n_15_t_1", "tree_n_31_t_1", "tree_n_63_t_1", "tree_n_127_t_1", "tree_n_15_t_2", "tree_n_31_t_2",
    "tree_n_63_t_2", "tree_n_15_t_3", "tree_n_31_t_3", "tree_n_15_t_4", "tree_n_31_t_4", "matmul22", "matmul33",
    "matmul44", "matmul55", "matmul66", "matmul22normal", "convolution22", "convolution33", "convolution44",
    "convolution55", "tree_n_15_t_1_r_3", "tree_n_31_t_1_r_3", "tree_n_63_t_1_r_3", "tree_n_15_t_2_r_3",
    "tree_n_31_t_2_r_3", "tree_n_15_t_3_r_3", "tree_n_15_t_4_r_3", "K4N4", "K4N5", "K4N6", "K4N7", "K4N8", "K5N4",
    "K6N4", "K7N4", "K8N4",
)  # fmt: skip

TARGET: Final = Target(
    name="builtin",
    summary="what every target shares",
    traits={
        "grid": (
            "A tile runs one op for the whole loop and passes signals on beside it: the array is static, has "
            "function units, operand inputs, outputs and links only, and has no settings."
        ),
        "registers": (
            "Tiles are shared in time, results wait in output registers and register files, and operands have no FIFOs."
        ),
        "crossbars": (
            "Tiles are shared in time, and routes compete for the wires between them, which the configuration "
            "sets: links of crossbars, several of which a value may cross in one cycle, buses, and ports of "
            "register files."
        ),
        "spokes": (
            "The tiles stand in one row, each issues one op per spoke (slot), and early operands wait in delay "
            "registers of the tile that reads them."
        ),
        "rows": (
            "Rows of combinational ALUs stand over load and store ports, and only row boundaries take cycles, so "
            "that a graph has a width in columns."
        ),
        "words24": (
            "The ALUs compute with 24-bit words and a carry (domain cma24), so that loops of 32-bit integers are "
            "narrowed first."
        ),
        "switches": "The array is elastic: units between switches exchange tokens over time-shared links.",
        "fuses": "A function unit multiplies or shifts and then adds in one instruction.",
        "blocking": "Some op keeps its function unit for more than one cycle, in which the unit takes no other op.",
        "partial": "Some tile runs only some ops of an op class.",
        "banks": "Arrays of the program lie in memory banks, which start a few accesses per cycle from some tiles.",
        "constant_stores": "Some tile keeps only so many constants and initial values.",
        "loop_controller": (
            "The array starts a loop again for the next iteration of the loops around it, without the host."
        ),
        "stores_write": "A store overwrites the output register of its tile.",
        "flags": "The last operand of a tile is a flag of a result: it reads output registers and no others.",
        "memory_access": "The array accesses of a loop stay loads and stores; without this trait they become streams.",
        "wraps": "Links join the opposite borders of the array.",
        "hexagonal": "A tile has six neighbours, and odd rows are drawn half a tile to the right.",
        "upward": "Row 0 is the lowest row of a drawing, and the load and the store port of a column stand below it.",
    },
    archs={
        "array": Entry("gridloom.archs.described.family:build", "array that is described tile by tile"),
    },
    mappers={
        "portfolio": Mapper(
            {"*": "gridloom.search.portfolio:portfolio"},
            "a race of the mappers that suit the array; the best result wins",
        ),
    },
    kernels={
        "vector_add": Entry("gridloom.compiler.kernels.streams:VECTOR_ADD", "z = x + y"),
        "axpy": Entry("gridloom.compiler.kernels.streams:AXPY", "z = a x + y, on integers or single-precision numbers"),
        "distance": Entry("gridloom.compiler.kernels.streams:DISTANCE", "squared distance of two points"),
        "dot_product": Entry("gridloom.compiler.kernels.streams:DOT_PRODUCT", "running sum of x y"),
        "mul_add": Entry("gridloom.compiler.kernels.streams:MUL_ADD", "w = x y + z"),
        "stream_pair": Entry("gridloom.compiler.kernels.streams:STREAM_PAIR", "y[i] = 2 x[i+1] + 6 x[i]"),
        "tree_reduce": Entry("gridloom.compiler.kernels.trees:TREE_REDUCE", "full binary adder trees"),
        "tree_expand": Entry("gridloom.compiler.kernels.trees:TREE_EXPAND", "full binary trees that spread one input"),
        "map_reduce": Entry(
            "gridloom.compiler.kernels.trees:MAP_REDUCE", "adder tree with a chain of operations before each leaf"
        ),
        "matmul": Entry("gridloom.compiler.kernels.linear_algebra:MATMUL", "classic n x n matrix product"),
        "matmul_add": Entry("gridloom.compiler.kernels.linear_algebra:MATMUL_ADD", "matrix product with an addend"),
        "systolic_matmul": Entry(
            "gridloom.compiler.kernels.linear_algebra:SYSTOLIC_MATMUL", "rows times a matrix that the multipliers hold"
        ),
        "convolution": Entry("gridloom.compiler.kernels.linear_algebra:CONVOLUTION", "k x k window times weights"),
        "kmeans": Entry("gridloom.compiler.kernels.kmeans:KMEANS", "index of the nearest of k centroids"),
        "fir": Entry("gridloom.compiler.kernels.signal:FIR", "finite impulse response filter"),
        "iir": Entry("gridloom.compiler.kernels.signal:IIR", "infinite impulse response filter of order 1 or 2"),
        "moving_average": Entry("gridloom.compiler.kernels.signal:MOVING_AVERAGE", "mean of the last samples"),
        "fft_radix2": Entry("gridloom.compiler.kernels.transforms:FFT_RADIX2", "radix-2 FFT butterfly"),
        "fft_radix4": Entry("gridloom.compiler.kernels.transforms:FFT_RADIX4", "radix-4 FFT butterfly"),
        "ifft": Entry("gridloom.compiler.kernels.transforms:IFFT", "inner loop of an IFFT stage, in memory"),
        "ifft_two_loop": Entry(
            "gridloom.compiler.kernels.transforms:IFFT_TWO_LOOP", "both inner loops of an IFFT stage, in memory"
        ),
        "dct4": Entry("gridloom.compiler.kernels.transforms:DCT4", "4-point DCT"),
        "dct8": Entry("gridloom.compiler.kernels.transforms:DCT8", "8-point DCT"),
        "idct8": Entry("gridloom.compiler.kernels.media:IDCT8", "8-point inverse DCT"),
        "horner_bezier": Entry("gridloom.compiler.kernels.media:HORNER_BEZIER", "point of a Bezier curve"),
        "bmp_header": Entry("gridloom.compiler.kernels.media:BMP_HEADER", "bytes of the header of a BMP file"),
        "gray": Entry("gridloom.compiler.kernels.image:GRAY_KERNEL", "luma of an RGB pixel"),
        "rgb_to_ycc": Entry("gridloom.compiler.kernels.image:RGB_TO_YCC", "RGB to luma and chroma"),
        "sepia": Entry("gridloom.compiler.kernels.image:SEPIA_KERNEL", "sepia tone of a pixel"),
        "alpha_blend": Entry("gridloom.compiler.kernels.image:ALPHA_BLEND", "front over back by alpha"),
        "sobel": Entry("gridloom.compiler.kernels.image:SOBEL", "edge strength over three rows"),
        "aes_column": Entry("gridloom.compiler.kernels.crypto:AES_COLUMN", "MixColumns of AES"),
        "md5_step": Entry("gridloom.compiler.kernels.crypto:MD5_STEP", "steps of MD5"),
        "sorting_network": Entry("gridloom.compiler.kernels.sorting:SORTING_NETWORK", "sorting networks side by side"),
        "sha1_step": Entry("gridloom.compiler.kernels.crypto:SHA1_STEP", "steps of SHA-1"),
        "crc32": Entry("gridloom.compiler.kernels.loops:CRC32", "CRC-32 of a stream of bytes"),
        "bitcount": Entry("gridloom.compiler.kernels.loops:BITCOUNT", "ones in each word of an array"),
        "string_search": Entry("gridloom.compiler.kernels.loops:STRING_SEARCH", "position of a pattern in a text"),
        "isqrt": Entry("gridloom.compiler.kernels.loops:ISQRT", "integer square roots of an array"),
        "adpcm": Entry("gridloom.compiler.kernels.speech:ADPCM", "IMA ADPCM encoder step"),
        "gsm_ltp": Entry("gridloom.compiler.kernels.speech:GSM_LTP", "GSM long-term predictor"),
        "gemm": Entry("gridloom.compiler.kernels.polybench:GEMM", "C = alpha A B + beta C"),
        "syrk": Entry("gridloom.compiler.kernels.polybench:SYRK", "C = alpha A A' + beta C"),
        "atax": Entry("gridloom.compiler.kernels.polybench:ATAX", "y += A' tmp"),
        "bicg": Entry("gridloom.compiler.kernels.polybench:BICG", "s += A' r, q = A p"),
        "mvt": Entry("gridloom.compiler.kernels.polybench:MVT", "x1 += A y1, x2 += A' y2"),
        "jacobi": Entry("gridloom.compiler.kernels.polybench:JACOBI", "Jacobi stencil in 1 or 2 dimensions"),
        "random_layered": Entry(
            "gridloom.compiler.kernels.random_graphs:RANDOM_LAYERED", "random graph in layers, from a seed"
        ),
        "random_growing": Entry(
            "gridloom.compiler.kernels.random_graphs:RANDOM_GROWING", "random growing network, from a seed"
        ),
        "random_series_parallel": Entry(
            "gridloom.compiler.kernels.random_graphs:RANDOM_SERIES_PARALLEL",
            "random series-parallel graph, from a seed",
        ),
        "cma_aes": Entry("gridloom.compiler.kernels.cma:CMA_AES", "AES column on 24-bit words"),
        "cma_radix4_fft": Entry("gridloom.compiler.kernels.cma:CMA_RADIX4_FFT", "radix-4 butterfly on 24-bit words"),
        "cma_rgb_to_ycc": Entry(
            "gridloom.compiler.kernels.cma:CMA_RGB_TO_YCC", "packed RGB to packed YCC on 24-bit words"
        ),
        "cma_dct8": Entry("gridloom.compiler.kernels.cma:CMA_DCT8", "8-point DCT of pixels on 24-bit words"),
        "cma_md5": Entry("gridloom.compiler.kernels.cma:CMA_MD5", "first round of MD5 scaled to 24-bit words"),
        **{
            f"neosa-{name}": Entry(f"gridloom.compiler.kernels.neosa:{name}", f"{name} of the NeoSA evaluation")
            for name in _NEOSA
        },
    },
    readers={
        "json": Reader("gridloom.dfg.json_format:read", "graphs that gridloom wrote: *.json", endings=(".json",)),
        "dot": Reader(
            "gridloom.compiler.graphs.dot:read",
            "Graphviz files of NeoSA, GenMap, CGRA-Bench, elastic_cgra_mapper: *.dot, *.gv",
            endings=(".dot", ".gv"),
        ),
        "ccf": Reader(
            "gridloom.compiler.graphs.ccf:read",
            "loops of CCF and RAMP: *_node.txt with *_edge.txt",
            endings=("_node.txt", "_edge.txt"),
        ),
        "satmapit": Reader(
            "gridloom.compiler.graphs.satmapit:read",
            "loops of SAT-MapIt: *_nodes with *_edges",
            endings=("_loop_graph.dot", "_nodes", "_edges", "_constants", "_liveinnodes", "_liveoutnodes"),
        ),
        "morpher": Reader("gridloom.compiler.graphs.morpher:read", "graphs of Morpher: *.xml", endings=(".xml",)),
        "c": Reader(
            "gridloom.compiler.c:read",
            "a loop of a C or C++ file: *.c, or FILE.c:FUNCTION,key=value,...",
            "c",
            endings=(".c", ".cpp", ".cc", ".cxx"),
        ),
        "mlir": Reader(
            "gridloom.compiler.c:read",
            "a loop of an MLIR file: *.mlir, or FILE.mlir:FUNCTION,key=value,...",
            "mlir",
            endings=(".mlir",),
        ),
        "python": Reader(
            "gridloom.compiler.python.kernel:read",
            "a function with @gridloom.kernel or an object with build(): *.py, or FILE.py:NAME",
            endings=(".py",),
        ),
        "e2emap": Reader(
            "gridloom.compiler.graphs.e2emap:read",
            "kernels of E2EMap, lines of values with commas: *.txt",
            endings=(".txt",),
        ),
    },
    commands={
        "studio": Command(
            "gridloom.cli.commands.studio_command:studio",
            "Map, watch and understand in the browser.",
            "examples/kernels/fir.c",
            "Map",
        ),
        "map": Command(
            "gridloom.cli.commands.map_command:map_source",
            "Map a graph onto an array, check and simulate it.",
            "kernel:fir --arch mesh:5x5 -o mapping.json --html report.html",
            "Map",
        ),
        "compile": Command(
            "gridloom.cli.commands.compile_command:compile_source",
            "Map a whole C function and run it on data.",
            "examples/functions/fir_q15.c --arch torus:4x4 --random 1",
            "Map",
        ),
        "partition": Command(
            "gridloom.cli.commands.partition_command:partition",
            "Cut a graph into parts that map one after the other.",
            "kernel:cma_aes --arch vpcma",
            "Map",
        ),
        "check": Command(
            "gridloom.cli.commands.check_commands:check",
            "Check a saved mapping against every rule of its array.",
            "mapping.json",
            "Judge and understand",
        ),
        "simulate": Command(
            "gridloom.cli.commands.check_commands:simulate",
            "Run a saved mapping and compare its values.",
            "mapping.json --iterations 1000",
            "Judge and understand",
        ),
        "why": Command(
            "gridloom.cli.commands.why_command:why",
            "Say what bounds a result, and what would help.",
            "kernel:iir --arch torus:4x4",
            "Judge and understand",
        ),
        "show": Command(
            "gridloom.cli.commands.show_command:show",
            "Draw a mapping, an array or a graph, or list loops.",
            "examples/kernels/fir.c",
            "Judge and understand",
        ),
        "estimate": Command(
            "gridloom.cli.commands.estimate_command:estimate",
            "Estimate the columns of a graph or the II of a loop.",
            "kernel:cma_aes --arch vpcma",
            "Judge and understand",
        ),
        "bench": Command(
            "gridloom.cli.commands.bench_command:bench",
            "Run a suite: every source on every array.",
            "smoke --seed 1",
            "Compare and explore",
        ),
        "explore": Command(
            "gridloom.cli.commands.explore_command:explore",
            "Map kernels onto every array of a space and compare.",
            "examples/explore/registers.yaml --html front.html",
            "Compare and explore",
        ),
        "rtl": Command(
            "gridloom.cli.commands.rtl_command:rtl",
            "Write the Verilog of an array, the bits of a mapping.",
            "mapping.json -o hardware",
            "Hardware",
        ),
        "cosim": Command(
            "gridloom.cli.commands.cosim_command:cosim",
            "Run mappings on the generated hardware and compare.",
            "mapping.json --stall 1",
            "Hardware",
        ),
        "synth": Command(
            "gridloom.cli.commands.synth_command:synth",
            "Synthesise an array: area and clock, in LUTs or cells.",
            "mesh:2x2,fifo=2 --target ecp5 --set width=16",
            "Hardware",
        ),
        "system": Command(
            "gridloom.cli.commands.system_command:system",
            "Run a C program on a RISC-V core with an array.",
            "examples/system/smooth.c --arch torus:4x4 --run",
            "Hardware",
        ),
        "emit": Command(
            "gridloom.cli.commands.emit_command:emit",
            "Write a mapping as a program for another machine.",
            "openedge loop.json -o program",
            "Hardware",
        ),
        "import": Command(
            "gridloom.cli.commands.import_command:import_mapping",
            "Read and judge a mapping that another tool made.",
            "neura mapping.yaml -o mapping.json",
            "Judge and understand",
        ),
        "train": Command(
            "gridloom.cli.commands.model_commands:train",
            "Train a model, or make the data it learns from.",
            "initiation --folder runs/initiation",
            "Learn",
        ),
        "eval": Command(
            "gridloom.cli.commands.model_commands:evaluate",
            "Measure a model on data it has not seen.",
            "mappability --set folds=0",
            "Learn",
        ),
        "list": Command(
            "gridloom.cli.commands.list_commands:list_names",
            "List the names of arrays, mappers, kernels and more.",
            "archs",
            "Installation",
        ),
        "doctor": Command(
            "gridloom.cli.commands.list_commands:doctor",
            "Show versions, extras, tools, caches and the sandbox.",
            "",
            "Installation",
        ),
    },
)
