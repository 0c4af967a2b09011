"""Hardware: Verilog of an array, configuration bits of a mapping, co-simulation and area.

``parameters``    sizes of the hardware that an array leaves open
``rtl/``          the Verilog of an array: its units, their wires, the configuration chain, a testbench
``bitstream/``    from a configuration to named fields, packets and files, and back
``cosimulation``  the generated hardware in Icarus Verilog or Verilator, with what could be observed
``synthesis/``    area and logic levels by Yosys, and a model fitted to areas
"""
