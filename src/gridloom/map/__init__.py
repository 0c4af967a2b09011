"""Mappers: one file each, over one annealing engine, one router and one balancer."""
