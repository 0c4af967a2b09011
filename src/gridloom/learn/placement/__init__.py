"""The model ``ppo``: a policy that places the nodes of a graph on a streaming engine, one by one.

``boards``           many placements at once, with compiled steps in ``kernel``; ``env``: the same behind Gymnasium
``training_graphs``  the graphs that policies are trained on
``torch_policies``   the networks; ``ppo``: their optimisation; ``training``: iterations and checkpoints
``sampler``          placements that a policy samples within a budget; ``mapper``: the mapper ``ppo``
``model``            what the registry holds
"""
