"""Runs of an array for other tools: ``vcd`` for waveform viewers, ``perfetto`` for viewers of traces.

Both take plain signals and events, so that they know nothing of who has simulated what.
"""
