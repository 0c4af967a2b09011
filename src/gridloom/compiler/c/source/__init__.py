"""What the C text says that its compiled form does not: names, and loops that are gone."""
