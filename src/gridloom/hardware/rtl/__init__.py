"""Verilog of an array: its units, their wires, the configuration chain and a testbench."""
