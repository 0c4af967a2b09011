"""What learned models share: labels in a store, checkpoints, boosted trees, and weights as files of plain arrays.

``labelling``    labels that independent jobs make, in a store
``checkpoints``  the finished parts of a training or an evaluation, by what they depend on
``boosted``      gradient-boosted trees, grown with scikit-learn and run on numpy
``weights/``     the shipped weights, each with a model card

The models themselves belong to their targets (``targets/*/learned``). There ``model`` is the object that ``gridloom
train`` and ``gridloom eval`` find in the registry, ``training`` fits it, and ``inference`` runs trained weights on
numpy. Only training imports torch.

Each model follows the same steps. ``make_data`` draws inputs and labels them with a mapper or a simulator; labels go to
a store, so a run that is stopped continues. ``train`` fits a network and writes its weights with a description of data,
settings and seed. ``evaluate`` measures on inputs that training did not see, beside simple rivals. Data and training
are deterministic for a seed up to the order of floating-point sums, which may differ between versions of torch.
"""
