"""Features of routed decisions and the sums over a graph's edges, compiled: what inference spends its time on."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

#: Features of a flow, in order.
EDGE_FEATURES: Final = (
    "length", "load", "sharers", "packet", "rate", "wait", "window", "peaks",
)  # fmt: skip


@njit(cache=True, nogil=True)
def edge_features(
    count: int, links: int, starts: Ints, route: Ints, rate: Floats, peak: Floats, packet: Ints, room: Ints
) -> Singles:
    """Decision, flow -> its features (`EDGE_FEATURES`). Linear in the hops and in decisions times links."""
    flows = len(rate)
    found = np.zeros((count, flows, 8), dtype=np.float32)
    load, peaks, wait = np.zeros(links), np.zeros(links), np.zeros(links)
    sharers = np.zeros(links, dtype=np.int64)
    for d in range(count):
        base = d * flows
        for f in range(flows):
            for k in range(starts[base + f], starts[base + f + 1]):
                load[route[k]] += rate[f]
                peaks[route[k]] += peak[f]
                wait[route[k]] += rate[f] * packet[f]
                sharers[route[k]] += 1
        for f in range(flows):
            most_load, most_peaks, waits, most_sharers = 0.0, 0.0, 0.0, 0
            for k in range(starts[base + f], starts[base + f + 1]):
                link = route[k]
                most_load = max(most_load, load[link])
                most_peaks = max(most_peaks, peaks[link])
                most_sharers = max(most_sharers, sharers[link])
                waits += wait[link] - rate[f] * packet[f]
            length = starts[base + f + 1] - starts[base + f]
            turn = 2.0 * packet[f] + length + 1.0
            found[d, f, 0] = length / 16.0
            found[d, f, 1] = most_load
            found[d, f, 2] = most_sharers / 8.0
            found[d, f, 3] = packet[f] / 8.0
            found[d, f, 4] = rate[f]
            found[d, f, 5] = waits / 8.0
            found[d, f, 6] = rate[f] * (turn + 0.5 * waits) / room[f]
            found[d, f, 7] = most_peaks / 4.0
        for k in range(starts[base], starts[base + flows]):
            load[route[k]] = 0.0
            peaks[route[k]] = 0.0
            wait[route[k]] = 0.0
            sharers[route[k]] = 0
    return found


@njit(cache=True, nogil=True, fastmath=True)
def add_ends(values: Singles, at_source: Singles, at_target: Singles, source: Ints, target: Ints) -> None:
    """``values[d, f] += at_source[d, source[f]] + at_target[d, target[f]]``, then what is below 0 becomes 0."""
    for d in range(values.shape[0]):
        for f in range(values.shape[1]):
            u, v = source[f], target[f]
            for k in range(values.shape[2]):
                total = values[d, f, k] + at_source[d, u, k] + at_target[d, v, k]
                values[d, f, k] = total if total > 0 else np.float32(0)


@njit(cache=True, nogil=True, fastmath=True)
def gather_edges(values: Singles, ends: Ints, share: Singles, units: int) -> Singles:
    """Decision, unit -> mean over the flows that end there; ``share`` is 1 over their number, a flow each."""
    found = np.zeros((values.shape[0], units, values.shape[2]), dtype=np.float32)
    for d in range(values.shape[0]):
        for f in range(values.shape[1]):
            u = ends[f]
            for k in range(values.shape[2]):
                found[d, u, k] += share[f] * values[d, f, k]
    return found


@njit(cache=True, nogil=True, fastmath=True)
def pool_edges(values: Singles, logits: Singles) -> Singles:
    """Decision -> weighted mean (weights: softmax of the logits), greatest and mean of the flows' values."""
    size = values.shape[2]
    found = np.zeros((values.shape[0], 3 * size), dtype=np.float32)
    for d in range(values.shape[0]):
        top = logits[d, 0]
        for f in range(values.shape[1]):
            top = max(top, logits[d, f])
        total = np.float32(0)
        for f in range(values.shape[1]):
            weight = np.exp(logits[d, f] - top)
            total += weight
            for k in range(size):
                value = values[d, f, k]
                found[d, k] += weight * value
                found[d, size + k] = max(found[d, size + k], value)
                found[d, 2 * size + k] += value
        for k in range(size):
            found[d, k] /= total
            found[d, 2 * size + k] /= values.shape[1]
    return found


@njit(cache=True, nogil=True, fastmath=True)
def linear(values: Singles, weight: Singles, bias: Singles) -> Singles:
    """``values @ weight + bias`` on this thread alone: libraries start others, which small products do not pay for."""
    rows, inner = values.shape
    size = weight.shape[1]
    found = np.empty((rows, size), dtype=np.float32)
    for row in range(rows):
        for k in range(size):
            found[row, k] = bias[k]
        for j in range(inner):
            value = values[row, j]
            if value != 0:
                for k in range(size):
                    found[row, k] += value * weight[j, k]
    return found
