"""Initial placements of the ``modulo`` mapper: tiles and cycles by annealing on an estimate of the routes."""
