"""The folder that ``gridloom system -o`` writes: Verilog, driver, program, and a Makefile that builds and runs them."""

from __future__ import annotations

from typing import Final

from gridloom.flow.system.build import Sources
from gridloom.flow.system.run import SystemTask
from gridloom.hardware.system.header import software_text
from gridloom.hardware.system.top import simulation_text, system_files

_MAKEFILE: Final = """\
# Builds the program for the core and the simulation of the system, and runs one on the other.
CROSS ?= riscv64-unknown-elf-
CLANG ?= clang
VERILATOR ?= verilator
VEXRISCV ?= $(shell python3 -c "import pythondata_cpu_vexriscv as p; print(p.data_location)")/verilog/VexRiscv.v
LIBC ?= /usr/lib/picolibc/riscv64-unknown-elf
FLAGS = -march=rv32im -mabi=ilp32 -O2 -w -ffunction-sections -DGL_ON_ARRAY
OBJECTS = function.o {objects}

run: simulation program.hex
\t./simulation +program=program.hex

function.o: function.ll
\t$(CLANG) --target=riscv32 -march=rv32im -mabi=ilp32 -O2 -w -c $< -o $@
stdio.o files.o: %.o: %.c
\t$(CROSS)gcc $(FLAGS) -isystem $(LIBC)/include -c $< -o $@
%.o: %.c
\t$(CROSS)gcc $(FLAGS) -ffreestanding -c $< -o $@
%.o: %.S
\t$(CROSS)gcc $(FLAGS) -c $< -o $@
program.elf: $(OBJECTS) memory.ld
\t$(CROSS)gcc $(FLAGS) -nostdlib -static -Wl,--gc-sections -T memory.ld $(OBJECTS) \\
\t  -Wl,--start-group -L $(LIBC)/lib/release/rv32im/ilp32 {libraries} -Wl,--end-group -o $@
program.bin: program.elf
\t$(CROSS)objcopy -O binary $< $@
program.hex: program.bin
\tod -An -v -w4 -tx4 $< | tr -d ' ' > $@
simulation: soc.cpp soc.v $(wildcard *.v)
\t$(VERILATOR) --cc --exe --build -O3 --x-assign fast --x-initial fast -Wno-fatal -Wno-lint -CFLAGS "-O1 -std=c++17" \\
\t  -j 2 --top-module gridloom_soc -o ../simulation soc.cpp $(filter-out VexRiscv.v,$(wildcard *.v)) $(VEXRISCV)

clean:
\trm -rf obj_dir simulation program.* *.o
.PHONY: run clean
"""
_README: Final = """\
# {name} on a RISC-V core with {arch}

`make` builds the program and the simulation, and runs them. It needs `verilator`, GCC for RISC-V with picolibc
(`gcc-riscv64-unknown-elf`, `picolibc-riscv64-unknown-elf`), clang for `function.ll`, and the Verilog of the core
(`pip install pythondata-cpu-vexriscv`). `make CLANG="python3 -m ziglang clang"` takes the clang of the package
`ziglang`.

The program prints its output, then the numbers of the measured function, in hexadecimal: `#cycles` in all, `#busy` of
the array, `#configuring`, `#loading` of images, `#transfer` in which only data moved, `#waiting` of the core.

| file | what it is |
| --- | --- |
| `function.ll` | the program with a launch before each of these loops: {loops} |
| `loops.c` | each loop on the array as a C function, with its configuration image |
| `gridloom.h`, `gridloom.c` | the driver |
{main}| `support.c`, `start.S`, `memory.ld`{stdio} | what a program on the test system needs |
| `gridloom_system.v` and other `.v` | the array and the system around it |
| `soc.v`, `soc.cpp` | the test system: core, memory, and the system on their buses |
"""


def project_files(task: SystemTask, sources: Sources) -> dict[str, str]:
    """The texts by name."""
    texts = {**system_files(task.plan.system), **sources.c_files, "function.ll": sources.ir}
    names = ["support.c", "start.S", "memory.ld", *(["stdio.c"] if sources.libc else [])]
    names += ["files.c"] if "files.h" in sources.c_files else []
    texts |= {name: software_text(name) for name in names}
    texts |= {name: simulation_text(name) for name in ("soc.v", "soc.cpp")}
    objects = sorted(f"{name.rpartition('.')[0]}.o" for name in texts if name.endswith((".c", ".S")))
    libraries = "-lc -lgcc" if sources.libc else "-lgcc"
    main = "| `main.c` | calls the function on its data and prints what it leaves |\n" if "main.c" in texts else ""
    words = {
        "name": task.compiled.name, "arch": task.compiled.arch.name, "main": main,
        "loops": ", ".join(f"`{loop.plan.name}`" for loop in task.plan.loops),
        "stdio": ", `stdio.c`" if sources.libc else "",
    }  # fmt: skip
    texts["README.md"] = _README.format(**words)
    texts["Makefile"] = _MAKEFILE.format(objects=" ".join(objects), libraries=libraries)
    return texts
