"""The exact model of tiles with spokes."""
