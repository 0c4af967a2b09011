"""What learned models share: labels, training, evaluation, weights that know what they were trained for.

``reach``           the question of estimators (the least capacity at which a graph maps), and trained answers on numpy
``reach_training``  training and evaluation of estimators: folds by family, rivals, choice, calibration, intervals
``labels``          labels in a store that any run adds to, or packed in a file
``predictors``      linear models, trees and sums of both; ``boosted``: trees grown with scikit-learn, run on numpy
``calibration``     probabilities and thresholds; ``cards``: model cards
``weights/``        files of weights that know what they were trained for, and the shipped ones with their model cards

The models belong to their targets (``targets/*/learned``). There ``model`` is the object that ``gridloom train`` and
``gridloom eval`` find in the registry. An estimator is a question: how graphs are drawn, labelled by a search and seen
as numbers; everything else is here. Only training imports torch or scikit-learn.
"""
