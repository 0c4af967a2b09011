"""Pictures of graphs, arrays and mappings as SVG text.

``pictures``    one function for all of them
``graph``       dataflow graphs, placed by ``layered``; ``partition_tree``: the tree of a partitioning
``array``       arrays and mappings: ``array_layout`` places tiles and links, ``tiles`` draws the parts, ``wires`` turns
                routes into paths; targets add theirs by the hooks ``wires`` and ``pictures``
``legend``      headings and legends; ``palette``: colours; ``geometry``: points and paths; ``text``: SVG elements

Coordinates are in pixels with y downwards. A picture has two forms: alone, with titles that viewers show at the
pointer; and *live* inside the report, where elements carry the indices that the report's script reads instead.

======  ================================================  ======  ============================================
mark    index of                                          mark    index of
======  ================================================  ======  ============================================
data-n  an instance of the mapping                        data-e  edges of the graph
data-g  nodes of the graph                                data-s  a signal, numbered like instances
data-t  a tile of the array                               data-c  flat cycles (elastic arrays: stages)
data-r  a resource of the array                           data-slot  a slot of the modulo schedule
======  ================================================  ======  ============================================
"""
