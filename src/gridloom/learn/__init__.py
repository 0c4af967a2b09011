"""Models that are learned: data, training, evaluation, and inference without torch where it is possible.

``mappability/``  does a graph fit an array of rows, and how many columns does it need?
``initiation/``   which II does a loop reach on a modulo-scheduled array?
``cost_model/``   how fast does a placed and routed dataflow pipeline run?
``placement/``    a policy that places the nodes of a graph on a streaming engine
``boosted``       gradient-boosted trees, which the first two use
``weights/``      the shipped weights as plain arrays, each with a model card

In each folder ``model`` is the object that ``gridloom train`` and ``gridloom eval`` find in the registry, ``training``
trains the networks of ``torch_models`` (or ``torch_policies``), and ``inference`` runs trained weights on numpy. No
other package imports this one: the registry names its objects. Besides the tensor front end, only it imports torch.

Each model follows the same steps. ``make_data`` draws inputs and labels them with a mapper or a simulator; labels go to
a store, so a run that is stopped continues. ``train`` fits a network and writes its weights with a description of data,
settings and seed. ``evaluate`` measures on inputs that training did not see, beside simple rivals. Data and training
are deterministic for a seed up to the order of floating-point sums, which may differ between versions of torch.
"""
