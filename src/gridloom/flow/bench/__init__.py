"""Suites: many flows as independent jobs, compared with golden results and with other tools."""
