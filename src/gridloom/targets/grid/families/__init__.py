"""The array families of static grids: ``mesh`` builds all four topologies."""
