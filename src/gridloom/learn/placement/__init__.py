"""Placement policies for the streaming engine, learned by reinforcement."""
