"""Pictures of graphs, arrays and mappings as SVG text.

``pictures``    one function for all of them
``graph``       dataflow graphs, placed by ``layered``; ``partition_tree``: the tree of a partitioning
``array``       arrays and mappings: ``array_layout`` places tiles and links, ``tiles`` draws the parts, ``wires`` and
                ``row_wires`` turn routes into paths; ``spokes``: mappings on a streaming engine
``legend``      headings and legends; ``palette``: colours; ``geometry``: points and paths; ``text``: SVG elements
"""
