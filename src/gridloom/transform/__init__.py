"""Graphs made from graphs: what an array's style asks for before mapping."""
