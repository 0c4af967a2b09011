"""Learned estimates of whether a graph fits an array of rows, and on how many columns."""
