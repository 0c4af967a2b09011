"""Verilog of an array: its units, their wires, the configuration chain and a testbench.

``structure``    what the hardware consists of, derived from the array's resource graph
``layout``       where each field of a configuration is: context words, address map, packets
``unit_module``  the module of a unit; ``top``: the module of the array; ``testbench``: what runs it
``generate``     all modules as texts; ``package``: the folder that ``gridloom rtl`` writes
``names``        Verilog identifiers; ``text``: small pieces of Verilog
``verilog/``     hand-written modules that the generated ones instantiate

Behaviour is in the hand-written modules; the generated ones only instantiate and connect. A tile of a 64-tile array is
therefore a few lines of a shared module that can be read and simulated alone. Generation is deterministic: the same
array and parameters give the same bytes.
"""
