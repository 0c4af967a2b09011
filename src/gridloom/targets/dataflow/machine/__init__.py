"""Simulators of elastic arrays: one token by token with values, one packet by packet that only measures.

``fabric``         what the array is made of beside units: links, banks, DRAM channels and the buffers behind them
``run``            the simulator with values; ``token_kernel``: its cycle loop, ``token_tables``: what that reads and
                   changes, ``token_agenda``: what comes next in it, ``untimed`` and ``untimed_values``: the values that
                   it has to reproduce
``measure``        the simulator that measures periods; ``packet_kernel``: its events, ``packet_tables``: what they read
                   and change, ``packet_trees``: multicast trees
``cold``           what a cold start runs, one program after the other; ``loading``: configuration and weights as such
                   programs; ``token_cold`` and ``packet_cold`` run them

The two share the tables of ``fabric`` and the programs of cold starts and nothing else: trees, queues and turns are
written twice, and property tests hold them to the same cycle for every firing. How the machine behaves is in
docs/dataflow-machine.md.
"""
