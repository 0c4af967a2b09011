"""The model ``mappability``: does a graph fit an array of rows, and how many columns does it need?

``random_graphs``  the graphs of the data set; ``data``: their labels in a store
``features``       what the models see of a graph; ``inference``: the shipped estimator on numpy
``torch_models``   our network and DGCNN; ``training``: folds and training; ``checkpoints``: finished parts of a run
``metrics``        accuracy, calibration and threshold; ``model``: what the registry holds
"""
