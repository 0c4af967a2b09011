"""Simulators of elastic arrays: one token by token with values, one packet by packet that only measures.

``fabric``         what the array is made of beside units: links, banks, DRAM channels and the buffers behind them
``run``            the simulator with values; ``token_kernel``: its cycle loop, ``token_tables``: what that reads and
                   changes, ``token_agenda``: what comes next in it, ``untimed``: the values that it has to reproduce
``measure``        the simulator that measures periods; ``packet_kernel``: its events, ``packet_tables``: what they read
                   and change, ``packet_trees``: multicast trees

The two share the tables of ``fabric`` and nothing else: trees, queues and turns are written twice, and a property test
holds them to the same cycle for every firing. How the machine behaves is in docs/dataflow-machine.md.
"""
