"""Bus tests that run inside of Icarus Verilog (cocotb): random transactions with back-pressure on both interfaces.

``test_bus.py`` starts them. GRIDLOOM_TRANSACTIONS says how many, GRIDLOOM_CASE names a JSON file with images.
"""

from __future__ import annotations

import json
import logging
import os
import random
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam
from cocotbext.axi.constants import AxiResp

from gridloom.hardware.system.registers import ADDRESS, REGISTERS

COUNT = int(os.environ.get("GRIDLOOM_TRANSACTIONS", "100"))
SIZE = 1 << 16
READ, WRITE = ADDRESS["READ"], ADDRESS["WRITE"]


def waits(seed: int, share: float) -> Any:
    """Yields whether a channel pauses in a cycle, for ever."""
    chance = random.Random(seed)
    while True:
        yield chance.random() < share


class Bench:
    """The system with a master on its registers and a memory on its bus, both of which pause at random."""

    def __init__(self, dut: Any, seed: int, share: float = 0.3) -> None:
        self.dut, self.random = dut, random.Random(seed)
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
        self.ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=SIZE)
        for name in ("s_axi", "m_axi"):
            logging.getLogger(f"cocotb.{dut._name}.{name}").setLevel(logging.WARNING)
        channels = [
            self.ram.read_if.ar_channel, self.ram.read_if.r_channel, self.ram.write_if.aw_channel,
            self.ram.write_if.w_channel, self.ram.write_if.b_channel,
            self.registers.write_if.aw_channel, self.registers.write_if.w_channel, self.registers.write_if.b_channel,
            self.registers.read_if.ar_channel, self.registers.read_if.r_channel,
        ]  # fmt: skip
        for k, channel in enumerate(channels):
            channel.set_pause_generator(waits(seed * 97 + k, share))
        self.bursts = 0

    async def start(self) -> None:
        cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 4)
        self.dut.rst.value = 0
        await ClockCycles(self.dut.clk, 2)
        cocotb.start_soon(self._count())
        await self.write(ADDRESS["CONTROL"], 3)

    async def _count(self) -> None:
        """Count the bursts on the master's bus."""
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            for valid, ready in ((dut.m_axi_arvalid, dut.m_axi_arready), (dut.m_axi_awvalid, dut.m_axi_awready)):
                if valid.value.is_resolvable and ready.value.is_resolvable and int(valid.value) and int(ready.value):
                    self.bursts += 1

    async def write(self, address: int, word: int) -> None:
        await self.registers.write_dword(address, word & 0xFFFFFFFF)

    async def read(self, address: int) -> int:
        return int(await self.registers.read_dword(address))

    async def describe(self, base: int, words: list[int]) -> None:
        for k, word in enumerate(words):
            await self.write(base + 4 * k, word)

    async def channels_idle(self) -> None:
        while await self.read(ADDRESS["CHANNELS"]):
            pass
        assert await self.read(ADDRESS["ERROR"]) == 0


@cocotb.test()
async def registers_keep_what_is_written(dut: Any) -> None:
    """Random writes with byte lanes, and reads; addresses without a register answer with an error."""
    bench = Bench(dut, 1)
    await bench.start()
    model = {ADDRESS["LIVEIN"] + 4 * k: 0 for k in range(32)}
    model |= {READ + 4 * k: 0 for k in range(7)}
    model |= {ADDRESS["LOAD_ADDRESS"]: 0, ADDRESS["LOAD_WORDS"]: 0, ADDRESS["ITERATIONS"]: 0}
    nowhere = [0x074, 0x0FC, 0x17C + 0x80, 0x3FC, READ + 28, 0xFFC]
    places = list(model)
    for _ in range(COUNT):
        address = bench.random.choice(places)
        kind = bench.random.random()
        if kind < 0.45:
            first = bench.random.randrange(4)
            raw = bytes(bench.random.randrange(256) for _ in range(bench.random.randint(1, 4 - first)))
            answer = await bench.registers.write(address + first, raw)
            assert answer.resp == AxiResp.OKAY
            old = model[address].to_bytes(4, "little")
            model[address] = int.from_bytes(old[:first] + raw + old[first + len(raw) :], "little")
        elif kind < 0.9:
            assert await bench.read(address) == model[address], hex(address)
        else:
            place = bench.random.choice(nowhere)
            if kind < 0.95:
                assert (await bench.registers.read(place, 4)).resp == AxiResp.SLVERR, hex(place)
            else:
                assert (await bench.registers.write(place, b"1234")).resp == AxiResp.SLVERR, hex(place)
    for address, word in model.items():
        assert await bench.read(address) == word
    assert {register.name for register in REGISTERS} >= {"ID", "STATUS"}


def _pattern(chance: random.Random, low: int, high: int, most: int) -> dict[str, int]:
    """A random 2D pattern of elements whose bytes lie between two addresses, each element apart from the others."""
    while True:
        size = chance.choice((1, 2, 4))
        count, rows = chance.randint(1, 40), chance.choice((1, 1, 2, 3, 5))
        stride = size * chance.choice((1, 1, 1, 2, 3))
        row_stride = count * stride + size * chance.randrange(6)
        reach = (rows - 1) * row_stride + (count - 1) * stride + size
        if count * rows > most or low + reach + 8 > high:
            continue
        at = chance.randrange(low, high - reach) // size * size
        return {"at": at, "size": size, "count": count, "stride": stride, "rows": rows, "row_stride": row_stride}


def _places(pattern: dict[str, int]) -> list[int]:
    return [pattern["at"] + row * pattern["row_stride"] + k * pattern["stride"]
            for row in range(pattern["rows"]) for k in range(pattern["count"])]  # fmt: skip


def _words(pattern: dict[str, int], signed: bool, place: int) -> list[int]:
    kind = {1: 0, 2: 1, 4: 2}[pattern["size"]] | (4 if signed else 0)
    return [pattern["at"], kind, pattern["count"], pattern["stride"], pattern["rows"], pattern["row_stride"], place]


@cocotb.test()
async def transfers_move_what_they_say(dut: Any) -> None:
    """Random patterns into the data memory and out again; every other byte of memory stays as it was."""
    bench = Bench(dut, 2)
    await bench.start()
    chance = bench.random
    memory = bytearray(chance.randrange(256) for _ in range(SIZE))
    bench.ram.write(0, bytes(memory))
    while bench.bursts < COUNT:
        source = _pattern(chance, 0, SIZE // 2, 200)
        signed = chance.random() < 0.5
        # The data memory has 256 words, and a pattern up to 200 elements.
        place = chance.randrange(57)
        await bench.describe(READ, _words(source, signed, place))
        await bench.write(ADDRESS["START"], 1)
        values = [int.from_bytes(memory[p : p + source["size"]], "little", signed=signed) for p in _places(source)]
        while True:
            target = _pattern(chance, SIZE // 2, SIZE, 200)
            if target["count"] * target["rows"] <= len(values):
                break
        await bench.channels_idle()
        await bench.describe(WRITE, _words(target, False, place))
        await bench.write(ADDRESS["START"], 1 << 16)
        for p, value in zip(_places(target), values):
            memory[p : p + target["size"]] = (value & (1 << 8 * target["size"]) - 1).to_bytes(target["size"], "little")
        await bench.channels_idle()
    assert bytes(bench.ram.read(0, SIZE)) == bytes(memory)
    dut._log.info("bursts: %d", bench.bursts)


@cocotb.test()
async def an_image_is_loaded_while_another_runs(dut: Any) -> None:
    """Launch one image, load the other meanwhile, launch that one: both compute what they should, again and again."""
    case = json.loads(Path(os.environ["GRIDLOOM_CASE"]).read_text())
    bench = Bench(dut, 3)
    await bench.start()
    await bench.write(ADDRESS["IRQ_ENABLE"], 0xF)
    while_running = 0
    for turn in range(max(2, COUNT // 100)):
        job = case["jobs"][turn % len(case["jobs"])]
        bank = turn % 2
        at = 0x8000 + 0x2000 * bank
        if turn < 2:
            await _load(bench, job["image"], at, bank)
        bench.ram.write(0x100, b"".join((w & 0xFFFFFFFF).to_bytes(4, "little") for w in job["memory"]))
        count = len(job["memory"])
        await bench.describe(READ, [0x100, 2, count, 4, 1, 0, job["place"]])
        await bench.write(ADDRESS["START"], 1)
        await bench.channels_idle()
        for number, word in job["liveins"]:
            await bench.write(ADDRESS["LIVEIN"] + 4 * number, word)
        await bench.write(ADDRESS["ITERATIONS"], job["iterations"])
        await bench.write(ADDRESS["BANK"], bank)
        await bench.write(ADDRESS["LAUNCH"], 1)
        other = case["jobs"][(turn + 1) % len(case["jobs"])]
        await _start_load(bench, other["image"], 0x8000 + 0x2000 * (1 - bank), 1 - bank)
        status = await bench.read(ADDRESS["STATUS"])
        while_running += status & 0b1010 == 0b1010
        while await bench.read(ADDRESS["STATUS"]) & 0b1010:
            pass
        assert await bench.read(ADDRESS["ERROR"]) == 0
        assert int(dut.irq.value) == 1 and await bench.read(ADDRESS["IRQ"]) & 1
        await bench.write(ADDRESS["IRQ"], 0xF)
        await ClockCycles(dut.clk, 2)
        assert int(dut.irq.value) == 0
        for number, word in job["liveouts"]:
            assert await bench.read(ADDRESS["LIVEOUT"] + 4 * number) == word & 0xFFFFFFFF
        await bench.describe(WRITE, [0x4000, 2, count, 4, 1, 0, job["place"]])
        await bench.write(ADDRESS["START"], 1 << 16)
        await bench.channels_idle()
        raw = bytes(bench.ram.read(0x4000, 4 * count))
        found = [int.from_bytes(raw[k : k + 4], "little", signed=True) for k in range(0, len(raw), 4)]
        assert found == job["expected"]
    assert while_running > 0


async def _start_load(bench: Bench, image: list[int], at: int, bank: int) -> None:
    bench.ram.write(at, b"".join(word.to_bytes(4, "little") for word in image))
    await bench.write(ADDRESS["LOAD_ADDRESS"], at)
    await bench.write(ADDRESS["LOAD_WORDS"], len(image))
    await bench.write(ADDRESS["LOAD_BANK"], bank)


async def _load(bench: Bench, image: list[int], at: int, bank: int) -> None:
    await _start_load(bench, image, at, bank)
    while await bench.read(ADDRESS["STATUS"]) & 8:
        pass
    assert await bench.read(ADDRESS["VALID"]) >> bank & 1
