"""streaming-engine: distances in cycles, spokes, what level strict limits."""

from __future__ import annotations

import pytest
from tests.archs.paths import earliest

from gridloom.archs import Kind, build
from gridloom.errors import ArchError


def test_value_takes_as_many_cycles_as_it_goes_tiles_far() -> None:
    arch = build("streaming-engine:16,spokes=6")
    for a in range(16):
        reached = earliest(arch, f"t_{a}.out")
        for b in range(16):
            assert {reached[f"t_{b}.in{k}"] for k in range(3)} == {abs(a - b)}


def test_result_leaves_three_cycles_after_issue() -> None:
    arch = build("streaming-engine")
    assert {tile.latency_of(name) for tile in arch.tiles for name in ("alu", "mul")} == {3}
    assert earliest(arch, "t_0.fu")["t_0.in0"] == 3


def test_fabric_links_one_and_two_tiles_apart() -> None:
    arch = build("streaming-engine:6")
    assert [arch.tiles[b].col for a, b, _ in arch.links if a == 2] == [0, 1, 3, 4]
    assert [arch.tiles[b].col for a, b, _ in arch.links if a == 0] == [1, 2]
    assert [arch.tiles[b].col for a, b, _ in arch.links if a == 5] == [3, 4]


def test_level_strict_limits_links_and_delay_registers() -> None:
    strict, paper = build("streaming-engine"), build("streaming-engine:level=paper")
    assert set(strict.capacity[strict.kind == Kind.LINK]) == {1}
    assert set(paper.capacity[paper.kind == Kind.LINK]) == {0}
    assert ({t.delays for t in strict.tiles}, {t.delays for t in paper.tiles}) == ({8}, {None})
    assert {t.contexts for t in strict.tiles} == {6}


def test_constants_and_streams_take_no_tile() -> None:
    arch = build("streaming-engine")
    assert (arch.rows, arch.cols, arch.style) == (1, 16, "modulo")
    assert arch.free == {"const", "livein", "input", "output"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("streaming-engine:0", "tiles: expected 1 to 1024, found 0"),
        ("streaming-engine:99999", "tiles: expected 1 to 1024, found 99999"),
        ("streaming-engine:spokes=0", "spokes: expected 1 to 1024, found 0"),
        ("streaming-engine:delays=-1", "delays: expected 0 to 1048576, found -1"),
        ("streaming-engine:tile_memory=-1", "tile_memory: expected 0 to 1099511627776, found -1"),
        ("streaming-engine:2x2", "rows: family 'streaming-engine' has no such parameter; it has: delays, instructions, "
         "latency, level, memories, operands, simd, spokes, tile_memory, tiles, words"),
        ("streaming-engine:simd=100", "simd: expected a power of two from 32 to 4096, found 100"),
        ("streaming-engine:simd=16", "simd: expected a power of two from 32 to 4096, found 16"),
        ("streaming-engine:simd=8192", "simd: expected a power of two from 32 to 4096, found 8192"),
        ("streaming-engine:memories=0", "memories: expected 1 to 16, found 0"),
        ("streaming-engine:words=-1", "words: expected 0 to 1048576, found -1"),
        ("streaming-engine:words=512,tile_memory=1024",
         "tile_memory: is memories times words; give either the product or the two, found both"),
    ],
)  # fmt: skip
def test_parameter_out_of_range_is_named(text: str, message: str) -> None:
    with pytest.raises(ArchError) as error:
        build(text)
    assert str(error.value) == f"array {text!r}: {message}"


def test_the_default_is_one_lane_beside_two_memories_of_512_words() -> None:
    arch = build("streaming-engine")
    assert (arch.simd, arch.simd_lanes()) == (None, 1)
    assert {tile.buffer for tile in arch.tiles} == {1024}


@pytest.mark.parametrize(
    ("text", "words"),
    [("words=1024", 2048), ("memories=1", 512), ("memories=4,words=3", 12), ("tile_memory=7", 7)],
)
def test_a_tile_holds_as_many_variables_as_its_memories_have_words(text: str, words: int) -> None:
    assert {tile.buffer for tile in build(f"streaming-engine:4,{text}").tiles} == {words}


@pytest.mark.parametrize(("bits", "lanes"), [(8, 64), (16, 32), (32, 16), (64, 8)])
def test_lanes_follow_from_the_width_of_elements(bits: int, lanes: int) -> None:
    assert build("streaming-engine:4,simd=512").simd_lanes(bits) == lanes


@pytest.mark.parametrize("bits", [24, 64])
def test_elements_that_do_not_share_the_data_path_are_refused(bits: int) -> None:
    with pytest.raises(ArchError) as error:
        build("streaming-engine:4,simd=32").simd_lanes(bits)
    assert str(error.value) == f"simd: 32 bits hold no whole number of words of {bits} bits"


def test_arrays_that_differ_in_the_width_alone_take_the_same_mappings() -> None:
    prints = {build(f"streaming-engine:6{simd}").fingerprint for simd in ("", ",simd=32", ",simd=64", ",simd=512")}
    assert len(prints) == 1
