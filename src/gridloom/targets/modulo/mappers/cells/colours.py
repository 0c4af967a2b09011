"""Colour refinement: nodes get the same colour where their surroundings look the same, on flat arrays.

The method is that of Weisfeiler and Leman (1968): each round mixes a node's colour with those of its neighbours, and
the kind of edge that leads to each. Sums of mixed colours do not depend on the order of the neighbours, so that a round
is a few passes over the edges. Two nodes with different surroundings get different colours but for collisions of 64-bit
hashes; whoever relies on equal colours compares the nodes themselves afterwards.
"""

from __future__ import annotations

import numpy as np

from gridloom.search.arrays import Bools, Int64s, Uint64s

_FORWARD = np.uint64(0x9E3779B97F4A7C15)
_BACKWARD = np.uint64(0xC2B2AE3D27D4EB4F)


def mix_values(values: Uint64s) -> Uint64s:
    """A hash of each value: the finaliser of splitmix64 (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        mix = values + _FORWARD
        mix = (mix ^ (mix >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mix = (mix ^ (mix >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mix ^ (mix >> np.uint64(31))


def refine_colours(
    colours: Uint64s, source: Int64s, target: Int64s, label: Uint64s, both_ways: Bools, rounds: int
) -> Uint64s:
    """The colours after some rounds over edges (source, target) with labels. O(rounds * edges).

    After r rounds a colour tells what lies within r edges of its node: along edges into it, and along edges out of it
    where ``both_ways`` says so. Rounds end early when they tell no more nodes apart.
    """
    back_source, back_target, back_label = source[both_ways], target[both_ways], label[both_ways]
    count = len(np.unique(colours))
    for _ in range(rounds):
        with np.errstate(over="ignore"):
            gathered = mix_values(colours)
            np.add.at(gathered, target, mix_values(colours[source] * _FORWARD ^ label))
            np.add.at(gathered, back_source, mix_values(colours[back_target] * _BACKWARD ^ back_label))
        colours = mix_values(gathered)
        apart = len(np.unique(colours))
        if apart == count:
            break
        count = apart
    return colours
