"""The model ``ppo``: a policy that places the nodes of a graph on a streaming engine, one by one.

``boards``           many placements at once, with compiled steps in ``kernel``; ``env``: the same behind Gymnasium
``training_graphs``  the graphs that policies are trained on
``torch_policies``   the networks; ``ppo``: their optimisation; ``training``: iterations and checkpoints
``sampler``          placements that a policy samples within a budget; ``mapper``: the mapper ``ppo``
``model``            what the registry holds

A *board* is one partial placement of one graph. An action is a slot, numbered tile * II + spoke, for the next node in
the order; the issue cycle of a node follows from its slot and its operands, so an action fixes where and when at once.
The published rules (nodes with a common variable on one tile, C1; starts of flows, C2, and readers of one node, C3, on
different tiles) are kept by masking slots, so a complete board is a legal placement at level ``paper``; links and delay
registers are only tried afterwards, at level ``strict``.
"""
