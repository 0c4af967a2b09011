"""Area, clock and power of the generated hardware, measured with other programs.

``yosys``           runs of Yosys over generated Verilog
``area``            the area of units and arrays, a linear model of it, and the critical path of a unit in logic levels
``ecp5``            LUTs and clock on an FPGA, placed and routed with nextpnr
``standard_cells``  area, clock and power with a liberty file, by Yosys and OpenSTA

Figures of gates and cells are of the logic before placement and routing: they compare arrays with each other.
"""
