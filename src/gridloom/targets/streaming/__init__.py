"""Micron's streaming engine: a row of tiles, each of which issues one op per spoke and multiplies and adds in one op.

A mapping gives each node a tile and a spoke; issue cycles, routes and waits follow from them.

Reading order:

1. ``target``: what the rest of the package knows of this target.
2. ``families/streaming_engine`` and ``fuse``: tiles, fabric and memories, and the fused ops that tiles run.
3. ``mappers/problem`` and ``mappers/anneal``: the rules of a placement, and the mapper that ``auto`` takes.
4. ``learned``: the policy behind the mapper ``ppo``, its training and its evaluation.
5. ``program``, ``rules`` and ``machine``: several loops on one engine, checked and simulated together.
"""
