"""Elastic dataflow grids, and the tensor programs that run on them.

Compute and memory units between switches exchange tokens. A mapping has places and routes but no cycles, and its
quality is a period.

Reading order:

1. ``target``: what the rest of the package knows of this target.
2. ``families/rdu`` and ``machine``: the array, and the two simulators that define how it behaves.
3. ``frontend``, ``program`` and ``lowering``: networks become tensor graphs, and tensor graphs become units.
4. ``mappers/dataflow`` and ``costs``: the search, and the cost models that guide it.
5. ``sections``, ``rules``, ``report`` and ``learned``: whole programs, legality, the report, the trained cost model.
"""
