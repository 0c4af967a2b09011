"""Mappers for a row of tiles with spokes (the streaming engine): a tile and a time slot for every op.

``anneal`` and ``exact`` are the production mappers, ``spokes-random`` is the reference. All of them work on the flat
problem of :mod:`~gridloom.targets.streaming.mappers.problem`, are screened by
:mod:`~gridloom.targets.streaming.mappers.screening`, try IIs upwards with
:mod:`~gridloom.targets.streaming.mappers.search`, and become a mapping in
:mod:`~gridloom.targets.streaming.mappers.mapping`.
"""
