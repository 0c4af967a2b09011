"""The exact model of static grids."""
