"""Area and logic levels of the generated hardware, measured with Yosys.

``yosys``   runs of Yosys over generated Verilog
``area``    the area of units and arrays, a linear model fitted to it, and the critical path of a unit in logic levels

All figures are of the logic before placement and routing on silicon: they compare arrays with each other and are no
prediction of square micrometres or nanoseconds.
"""
