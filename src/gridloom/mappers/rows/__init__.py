"""Rows of combinational ALUs (vpcma): the fewest columns that a graph fits on."""
