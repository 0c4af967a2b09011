"""Placement on static grids: annealers, bisection, and layouts that are known beforehand.

A placer takes tables (:mod:`~gridloom.targets.grid.mappers.problem`) and an array ``position[node] -> tile``, and
changes the array in place. A tile holds one node at most, and a node only sits where its kind is allowed: every placer
keeps both at every move.
"""
