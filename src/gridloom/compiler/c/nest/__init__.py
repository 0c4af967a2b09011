"""Two levels of a nest as one loop: how far the inner one is, and what restarts with it."""
