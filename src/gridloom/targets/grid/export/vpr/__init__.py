"""Files for VPR (Verilog to Routing): a static grid as an architecture, a graph as a netlist, and a placement.

``architecture`` tiles and kinds of nodes as VPR's XML; ``netlist``: the graph as BLIF; ``placement``: ``.place``
"""
