"""Elastic arrays (rdu): units of a pipeline onto tiles that fire when their tokens are there."""
