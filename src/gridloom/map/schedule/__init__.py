"""Schedulers: issue cycles from dependences and counts, before anything has a place."""
