"""The published policies, and those over a shortlist of slots: baselines of the slot policy.

``boards``          many placements at once, with compiled steps in ``kernel``; ``env``: the same behind Gymnasium
``torch_policies``  graph network and attention, MLPs over the state, both over a shortlist
``ppo``             their optimisation; ``training``: iterations over drawn graphs, and the player of the
                    guided search
"""
