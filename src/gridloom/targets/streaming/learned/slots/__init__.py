"""The slot policy, which the mapper ``ppo`` plays by: every slot of every tile is described by numbers and scored.

``board_kernel``  one placement with links and delay registers: what each slot would mean for the next node
``play_kernel``   whole placements by a policy, compiled, without torch
``policy``        weights, the graph network on numpy, and the hand-written rank
``training``      the same network in torch, and policy gradients over boards that compiled code plays
"""
