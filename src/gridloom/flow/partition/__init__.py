"""The partitioning flow: a graph that does not fit an array becomes parts that do."""
