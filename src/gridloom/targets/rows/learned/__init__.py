"""The model ``mappability``: does a graph fit an array of rows, and how many columns does it need?

``random_graphs``  the graphs of the data set; ``data``: their labels in a store
``features``       what the models see of a graph; ``inference``: the shipped estimator on numpy
``torch_models``   our network and DGCNN; ``training``: folds and training; ``checkpoints``: finished parts of a run
``metrics``        accuracy, calibration and threshold; ``model``: what the registry holds

The partitioning flow asks this question about many parts of a graph, and a search for a mapping of each would take too
long. The answer has three stages: counting nodes against rows and columns (``partition/width_estimate.py``), rows that
ops need at least (``targets/rows/bounds.py``), and for graphs that neither decides, the network. Only the last may be
wrong, and its threshold is set so that a graph that does not map is rarely called mappable.
"""
