"""One array for several graphs: what is left is what they use, and they still map."""

from __future__ import annotations

import pytest

from gridloom.archs import build
from gridloom.dfg import DfgBuilder, json_format
from gridloom.errors import OptionError
from gridloom.explore import parse_space
from gridloom.explore.buffers import Buffers
from gridloom.explore.merging import Merged
from gridloom.explore.search import find_array
from gridloom.explore.sharing import Shared, restrict_feature
from gridloom.run import ExecutorSpec, Store

INLINE = ExecutorSpec(backend="inline")


def test_a_union_is_the_most_that_one_graph_needs() -> None:
    spec = {"family": "mesh", "rows": 2, "cols": 2}
    uses = {
        "a": {"fifo": {"pe_0_0": 2, "pe_0_1": 1}, "mul": {}, "io": {}},
        "b": {"fifo": {"pe_0_0": 1, "pe_1_1": 3}, "mul": {}, "io": {}},
    }
    shared = Shared(spec, uses)
    assert shared.union("fifo") == {"pe_0_0": 2, "pe_0_1": 1, "pe_1_1": 3}
    assert shared.union("fifo", without="a") == {"pe_0_0": 1, "pe_1_1": 3}
    assert shared.table("fifo") == [[2, 1], [0, 3]]
    assert shared.total("fifo") == 6
    assert [tile.fifo for tile in build(restrict_feature(spec, "fifo", shared.union("fifo"))).tiles] == [2, 1, 0, 3]


def test_buffers_are_fewer_than_uniform_ones() -> None:
    space = parse_space(
        """
explore: buffers
find: buffers
kernels: ["kernel:stream_pair", "kernel:distance", "kernel:matmul,n=2"]
array: "mesh:6x6"
budget: {effort: 5000}
""",
        "buffers",
    )
    told: list[str] = []
    found = find_array(space, executor=INLINE, tell=told.append)
    assert isinstance(found, Buffers)
    assert told[0].startswith("depth 0: ")
    assert found.registers <= found.uniform_registers
    record = found.to_dict()
    arch = build(record["array"])
    assert 3 * sum(tile.fifo or 0 for tile in arch.tiles) == record["registers"]


def test_a_merged_array_has_only_what_is_used_and_resumes(tmp_path) -> None:
    space = parse_space(
        """
explore: merged
find: merged
kernels: ["kernel:gray", "kernel:distance"]
array: "chess:4x4,inputs=skewed"
budget: {effort: 5000}
""",
        "merged",
    )
    with Store(tmp_path / "rows.sqlite") as store:
        found = find_array(space, executor=INLINE, store=store)
        rows = len(store)
        again = find_array(space, executor=INLINE, store=store, resume=True)
        assert len(store) == rows
    assert isinstance(found, Merged)
    assert found == again
    arch = build(found.spec)
    assert len(arch.tiles) >= found.bound
    assert len(arch.tiles_for("mul")) == found.kept["mul"][0] < len(arch.tiles)
    assert found.area is not None
    assert found.full_area is not None
    assert found.area < found.full_area


@pytest.mark.parametrize(("find", "words"), [("buffers", "FIFO maps are searched"), ("merged", "graphs are merged")])
def test_other_arrays_are_refused(find: str, words: str) -> None:
    space = parse_space(f"find: {find}\nkernels: [kernel:fir]\narray: 'torus:2x2'", "torus")
    with pytest.raises(OptionError, match=f"^array: {words} on mesh, onehop, hex, chess, found torus$"):
        find_array(space, executor=INLINE)


def test_a_changed_file_is_mapped_again(tmp_path) -> None:
    from gridloom.explore.sharing import VariantMapper
    from gridloom.flow.bench import run as bench_run

    source = tmp_path / "one.json"
    space = parse_space(f"find: buffers\nkernels: ['{source}']\narray: 'mesh:3x3'\nbudget: {{effort: 2000}}", "one")
    spec = {"family": "mesh", "rows": 3, "cols": 3}
    rows = []
    with Store(tmp_path / "rows.sqlite") as store:
        for names in ("x", "xy"):
            graph = DfgBuilder("one", "i32")
            for name in names:
                graph.output(graph.add("neg", graph.input(name)), f"o{name}")
            source.write_text(json_format.dumps(graph.build()))
            # Another process would read the file anew.
            bench_run.graph_of.cache_clear()
            bench_run.graph_hash.cache_clear()
            uses = VariantMapper(space, [str(source)], store, INLINE).uses({str(source): spec})[str(source)]
            assert uses is not None
            rows.append(len(uses["io"]))
        asked = {row.asked["function"] for row in store.rows()}
    assert rows == [2, 4]
    assert asked == {"gridloom.explore.sharing.run_usage"}


def test_tiles_of_a_need_are_found_by_their_place_and_not_by_their_name():
    from gridloom.explore.sharing import layout, places

    spec = {"family": "onehop", "rows": 2, "cols": 3}
    assert places(spec)["pe_1_2"] == (1, 2)
    assert layout({"pe_0_2": 3}, spec) == [[0, 0, 3], [0, 0, 0]]
    assert restrict_feature(spec, "mul", {"pe_1_0": 1, "pe_0_2": 1})["mul"] == {"tiles": [[0, 2], [1, 0]]}
