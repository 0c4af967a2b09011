"""Hardware: Verilog of an array, configuration bits of a mapping, co-simulation and area.

The input is an array (:class:`~gridloom.archs.model.Arch`) with some sizes (``parameters``). From them
:class:`~gridloom.hardware.rtl.structure.Hardware` derives the units; everything else reads that one object, so that the
generated Verilog, the positions of the configuration bits and the area all describe the same circuit. A mapping comes
in as a :class:`~gridloom.mapping.configuration.Configuration` and becomes packets; at most it raises sizes that the
array leaves open.

``parameters``    sizes of the hardware that an array leaves open
``rtl/``          the Verilog of an array: its units, their wires, the configuration chain, a testbench
``bitstream/``    from a configuration to named fields, packets and files, and back
``cosimulation``  the generated hardware in Icarus Verilog or Verilator, with what could be observed
``synthesis/``    area and logic levels by Yosys, and a model fitted to areas

Hardware exists for static and modulo-scheduled arrays (domains ``i32``, ``f32`` and ``cma24``).
Elastic arrays and links without a limit are refused with an error that says so.
"""
