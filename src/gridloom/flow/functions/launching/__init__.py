"""Launches of mapped loops during a run: logged, simulated, scheduled between array and host, and counted."""
