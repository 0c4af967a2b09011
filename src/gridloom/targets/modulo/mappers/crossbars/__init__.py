"""Links that routes compete for: the wires of crossbars as states, the sweep over them, and what a signal pays."""
