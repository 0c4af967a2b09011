"""Compiled features of the flows of routed decisions, on which inference spends its time.

Arrays are [decision, flow, feature]; routes are flat: the links of flow f of decision d are ``route[starts[d * flows +
f] : starts[d * flows + f + 1]]``. Tables per link are allocated once and reset along the routes after each decision, so
that the cost follows the hops and not the links of the array.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gridloom.jit import checked_kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


@checked_kernel
def edge_features(
    count: int, links: int, starts: Ints, route: Ints, rate: Floats, peak: Floats, packet: Ints, room: Ints, tree: Ints,
    order: Ints,
) -> Singles:  # fmt: skip
    """Return [decision, flow] -> features (`FULL_SPEED`). Linear in the hops and in decisions times flows.

    Per flow: links on its way; the most loaded of them, by mean rate; the most trees on one link; vectors of a packet;
    rate; the time that packets of others take on its links; the share of its buffer's time that a round trip takes; the
    highest sum of peak rates. Each is divided by a typical size. Flows of one multicast tree count once on a link;
    ``order`` lists the flows tree by tree.
    """
    flows = len(rate)
    features = np.zeros((count, flows, 8), dtype=np.float32)
    load, peaks, wait = np.zeros(links), np.zeros(links), np.zeros(links)
    sharers = np.zeros(links, dtype=np.int64)
    seen = np.full(links, -1, dtype=np.int64)
    for d in range(count):
        base = d * flows
        for position in range(flows):
            f = order[position]
            for k in range(starts[base + f], starts[base + f + 1]):
                if seen[route[k]] == base + tree[f]:
                    continue
                seen[route[k]] = base + tree[f]
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
            turn = 2.0 * packet[f] + 2.0 * length - 1.0
            features[d, f, 0] = length / 16.0
            features[d, f, 1] = most_load
            features[d, f, 2] = most_sharers / 8.0
            features[d, f, 3] = packet[f] / 8.0
            features[d, f, 4] = rate[f]
            features[d, f, 5] = waits / 8.0
            features[d, f, 6] = rate[f] * (turn + 0.5 * waits) / room[f]
            features[d, f, 7] = most_peaks / 4.0
        for k in range(starts[base], starts[base + flows]):
            load[route[k]] = 0.0
            peaks[route[k]] = 0.0
            wait[route[k]] = 0.0
            sharers[route[k]] = 0
    return features


@checked_kernel
def speed_features(
    share: Floats, links: int, starts: Ints, route: Ints, meets: Floats, rate: Floats, own: Floats, packet: Ints,
    room: Ints, tree: Ints, order: Ints,
) -> Singles:  # fmt: skip
    """Return [decision, flow] -> features (`AT_SPEED`) where all flows run at a share of full speed for each decision.

    Per flow: its rate; the most loaded of its links and the sixth power of that load, which is near 1 on a full link
    only; the share of its room's time that the round trip takes, and its sixth power; the cycles of packets that it
    meets, as they are, as a share of its room's time, and longer the fuller the link is; the sixth power of the round
    trip with these waits; what the flows on its most loaded link, and on any of its links, could send if they did not
    wait for each other; its rate over what it could send; how much a flow with little time to spare is on a full link
    (the round trip with twice the waits, times the load of the link), and the sixth power of that. ``own`` is the
    rate of a flow while its units work, ``meets`` has what each hop meets at full speed.
    """
    flows = len(rate)
    features = np.zeros((len(share), flows, 14), dtype=np.float32)
    load, able, seen = np.zeros(links), np.zeros(links), np.full(links, -1, dtype=np.int64)
    could = np.zeros(flows)
    for d in range(len(share)):
        base, speed = d * flows, share[d]
        for position in range(flows):
            f = order[position]
            begin, end = starts[base + f], starts[base + f + 1]
            could[f] = min(own[f], room[f] / (2.0 * packet[f] + 2.0 * (end - begin) - 1.0))
            for k in range(begin, end):
                if seen[route[k]] != base + tree[f]:
                    seen[route[k]] = base + tree[f]
                    load[route[k]] += speed * rate[f]
                    able[route[k]] += could[f]
        for f in range(flows):
            begin, end = starts[base + f], starts[base + f + 1]
            used, at_most, ablest, met, queue = 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(begin, end):
                link = route[k]
                if load[link] > used:
                    used, at_most = load[link], able[link]
                ablest = max(ablest, able[link])
                met += speed * meets[k]
                queue += 0.5 * speed * meets[k] / (1.1 - min(1.0, load[link]))
            pace = speed * rate[f]
            each = pace / room[f]
            trip = each * (2.0 * packet[f] + 2.0 * (end - begin) - 1.0)
            features[d, f, 0] = pace
            features[d, f, 1] = used
            features[d, f, 2] = used**6
            features[d, f, 3] = trip
            features[d, f, 4] = trip**6
            features[d, f, 5] = met / 8.0
            features[d, f, 6] = each * met
            features[d, f, 7] = each * queue
            features[d, f, 8] = (trip + each * met) ** 6
            features[d, f, 9] = at_most / 2.0
            features[d, f, 10] = ablest / 2.0
            features[d, f, 11] = pace / max(could[f], 1e-6)
            features[d, f, 12] = used * (trip + 2.0 * each * met)
            features[d, f, 13] = (used * (trip + 2.0 * each * met)) ** 6
        for k in range(starts[base], starts[base + flows]):
            load[route[k]] = 0.0
            able[route[k]] = 0.0
    return features
