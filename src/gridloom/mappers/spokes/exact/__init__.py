"""The exact model of tiles with spokes.

``mapper`` tries IIs upwards, ``search`` builds and solves the model of one II, and ``links`` adds the wires to it.
"""
