"""Placements per second of the batched environment on one core, with masks, observations and new episodes.

python benchmarks/streaming_env_speed.py
"""

from __future__ import annotations

import json
import sys
import time

from gridloom.targets.streaming.learned.published.boards import BoardBatch, BoardOptions, observation
from gridloom.targets.streaming.learned.training_graphs import engine, problem_of

CASES = (("kernel:random_growing,nodes=15,inputs=4,seed=1,domain=opaque", 16, 1024), ("kernel:ifft", 16, 1024),
         ("kernel:random_growing,nodes=50,inputs=8,seed=1,domain=opaque", 64, 512))  # fmt: skip


def measure(source: str, tiles: int, boards: int, episodes: int = 12) -> dict[str, object]:
    """Return one row: a graph, and how fast its boards are played."""
    batch = BoardBatch(problem_of(source, engine(tiles, 6)), boards, BoardOptions())
    batch.step(batch.random_actions())
    batch.shortlist(32)
    stepping = picking = listing = 0.0
    placed = listed = 0
    for episode in range(episodes):
        began = time.process_time()
        batch.reset()
        stepping += time.process_time() - began
        while running := int(batch.running.sum()):
            began = time.process_time()
            action = batch.random_actions()
            picked = time.process_time()
            batch.step(action)
            observation(batch)
            done = time.process_time()
            picking, stepping, placed = picking + picked - began, stepping + done - picked, placed + running
            if episode == 0:
                began = time.process_time()
                batch.shortlist(32)
                listing, listed = listing + time.process_time() - began, listed + running
    return {
        "graph": source,
        "tiles": tiles,
        "boards": boards,
        "placements_a_second": round(placed / stepping),
        "with_random_actions": round(placed / (stepping + picking)),
        "shortlists_a_second": round(listed / listing),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps([measure(*case) for case in CASES], indent=1) + "\n")
