"""How far tiles are apart, and the tiles that a route between some of them may pass."""
