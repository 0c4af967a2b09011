"""A system around an array: registers on AXI4-Lite, DMA on AXI4, configuration images, and the drivers for them.

``parameters``  sizes of the system: banks for images, live-in and live-out registers, channels of streams
``registers``   the register map: one table for the hardware, the C header and the Python driver
``top``         the generated module around an array, and all files of the system
``image``       configuration images: version, array, checksum, what depends on a launch
``header``      the C header and the C driver as texts
``driver``      the Python driver, with the calls of the C driver
``bench``       the system in Verilator with a memory behind its bus, as a process that the driver talks to
``soc``         a RISC-V core, memory and the system in Verilator
``core``        the same core without Verilog: binaries and their cycles; ``core_kernel`` runs its instructions
``core_array``  the system as that core sees it: registers, DMA, images and launches

Nothing here knows a mapper or a function of C: what a launch needs comes in as a configuration.
"""
