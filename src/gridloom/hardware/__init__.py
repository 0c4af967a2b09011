"""Hardware: Verilog of an array, configuration bits of a mapping, co-simulation and area."""
