"""What can be said of a mapping before there is one: bounds and estimates."""
