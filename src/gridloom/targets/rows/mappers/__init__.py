"""Mappers for arrays of combinational rows (family ``vpcma``): the fewest columns that a graph fits on.

``width`` is the production mapper and ``genetic`` the published reference. Both flatten the graph and the array with
:mod:`~gridloom.targets.rows.mappers.problem`, refuse what cannot fit with
:mod:`~gridloom.targets.rows.mappers.screening`, and turn the state of their kernels into a mapping with
:mod:`~gridloom.targets.rows.mappers.mapping`.
"""
