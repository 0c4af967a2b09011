"""The model ``cost-model``: how fast does a placed and routed dataflow pipeline run?

``data``              placements of annealing, labelled by the simulator; ``random_guides``: what guides that annealing
``inference``         the shipped model on numpy, with compiled sums in ``kernel``
``torch_models``      our network and two published ones; ``training``: their training and figures
``cross_validation``  tables of variants; ``search_comparison``: what searches by each cost model reach
``model``             what the registry holds
"""
