"""The model ``ppo``: a policy that places the nodes of a graph on a streaming engine, one by one.

``slots/``           our policy, which describes and scores every slot: boards, play and weights without torch; training
``published/``       the published policies over the state of tiles and spokes: boards, environments, PPO, training
``training_graphs``  the graphs that policies are trained on; ``ground``: those that they are measured on
``guided``           the search around a policy; ``mapper``: the mapper ``ppo``
``evaluation``       policies side by side in one search; ``checkpoint``: what both trainings keep
``model``            what the registry holds

A *board* is one partial placement of one graph. An action is a slot, numbered tile * II + spoke, for the next node in
the order; the issue cycle of a node follows from its slot and its operands, so an action fixes where and when at once.
The published rules (nodes with a common variable on one tile, C1; starts of flows, C2, and readers of one node, C3, on
different tiles) are kept by masking slots, so a complete board is a legal placement at level ``paper``. The boards of
``published`` do not know links and delay registers; those of ``slots`` count them while they are placed.
"""
