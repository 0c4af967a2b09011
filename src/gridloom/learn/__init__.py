"""Models that are learned: data, training, evaluation, and inference without torch where it is possible.

``mappability/``  does a graph fit an array of rows, and how many columns does it need?
``cost_model/``   how fast does a placed and routed dataflow pipeline run?
``placement/``    a policy that places the nodes of a graph on a streaming engine
``weights/``      the shipped weights as plain arrays, each with a model card

In each folder ``model`` is the object that ``gridloom train`` and ``gridloom eval`` find in the registry, ``training``
trains the networks of ``torch_models`` (or ``torch_policies``), and ``inference`` runs trained weights on numpy. No
other package imports this one: the registry names its objects. Besides the tensor front end, only it imports torch.
"""
