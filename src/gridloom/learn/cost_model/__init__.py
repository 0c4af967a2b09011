"""The learned cost model of dataflow placements on an elastic array."""
