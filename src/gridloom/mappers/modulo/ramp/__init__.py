"""RAMP and the two techniques that it was measured against: modulo schedules, maximum cliques, routing strategies."""
