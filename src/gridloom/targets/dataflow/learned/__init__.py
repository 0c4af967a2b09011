"""The model ``cost-model``: how fast does a placed and routed dataflow pipeline run?

``data``              placements of annealing, labelled by the simulator, and what guides that annealing
``inference``         the shipped model on numpy, with compiled sums in ``kernel``; ``features``: what it sees of a flow
``torch_models``      our network and two published ones; ``training``: their training and figures
``cross_validation``  tables of variants; ``search_comparison``: what searches by each cost model reach
``model``             what the registry holds

A *decision* is a placement of all units of a pipeline with a route for every flow; its label is the *efficiency*: the
measured throughput over the bound that the slowest compute stage sets, between 0 and 1. A search compares very many
placements, and simulating each would leave time for few of them; the model stands in for the simulator, which judges
the finalists only.
"""
