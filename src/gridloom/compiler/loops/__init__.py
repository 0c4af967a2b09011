"""What the C and the Python front end share: the loop body under construction and the text that names a loop."""
