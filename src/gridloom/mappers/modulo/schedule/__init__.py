"""Modulo schedules: issue cycles from dependences and resource counts, before any op has a place."""
