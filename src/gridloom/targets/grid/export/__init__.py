"""Static grids and their graphs as files for other tools: ``vpr`` is the only one."""
