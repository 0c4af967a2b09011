"""Modulo schedules: issue cycles from dependences and resource counts, before any op has a place.

``iterative`` has the scheduler, ``resources`` what it counts. ``modulo`` takes its preferred cycles from here, ``ramp``
its schedules, ``exact`` only the distances.
"""
