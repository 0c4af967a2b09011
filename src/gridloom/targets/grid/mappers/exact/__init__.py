"""The exact model of static grids.

``model`` writes a problem down for CP-SAT, ``search`` decides which models are asked, and in which order.
"""
