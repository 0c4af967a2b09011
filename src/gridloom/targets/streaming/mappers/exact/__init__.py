"""The exact model of tiles with spokes.

``mapper`` tries IIs upwards; ``search`` finds and bounds the cycles of one II: ``reach`` has a bound without a solver,
``model`` the model, ``symmetry`` what it does not have to tell apart, and ``links`` its wires.
"""
