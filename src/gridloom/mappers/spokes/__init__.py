"""Tiles with spokes (the streaming engine): a tile and a time slot for every op."""
