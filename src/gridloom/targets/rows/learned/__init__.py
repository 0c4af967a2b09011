"""The model ``mappability``: does a graph fit an array of rows, and how many columns does it need?

``question``       what is asked: graphs, searches, features; :mod:`gridloom.learn.reach` has the rest
``random_graphs``  the graphs of the data set; ``features``: what the models see of a graph
``estimator``      widths by trained weights; ``model``: what the registry holds
``published``      the published network on numpy; ``dgcnn_training``: its training with torch

The partitioning flow asks this question about many parts of a graph, and a search for a mapping of each would take too
long. The answer has three stages: counting nodes against rows and columns (``partition/width_estimate.py``), rows that
ops need at least (``targets/rows/bounds.py``), and for graphs that neither decides, the trained model. Only the last
may be wrong, and its threshold is set so that a graph that does not map is rarely called mappable.
"""
