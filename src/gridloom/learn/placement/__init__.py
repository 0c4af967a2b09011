"""The model ``ppo``: a policy that places the nodes of a graph on a streaming engine, one by one.

``boards``           many placements at once, with compiled steps in ``kernel``; ``env``: the same behind Gymnasium
``training_graphs``  the graphs that policies are trained on; ``ground``: those that they are measured on
``board_kernel``     one placement with links and delay registers; ``play_kernel``: boards by a policy, without torch
``policy``           the slot policy on numpy; ``torch_slots``, ``slot_training``: its training
``guided``           the search around a policy; ``mapper``: the mapper ``ppo``
``torch_policies``   published and shortlist policies; ``ppo``: their optimisation; ``training``: iterations
``evaluation``       policies side by side in one search; ``board_player``: published ones in it
``model``            what the registry holds

A *board* is one partial placement of one graph. An action is a slot, numbered tile * II + spoke, for the next node in
the order; the issue cycle of a node follows from its slot and its operands, so an action fixes where and when at once.
The published rules (nodes with a common variable on one tile, C1; starts of flows, C2, and readers of one node, C3, on
different tiles) are kept by masking slots, so a complete board is a legal placement at level ``paper``. The boards of
``boards`` do not know links and delay registers; those of ``board_kernel`` count them while they are placed.
"""
