"""The simulator of programs: several flows on one clock, joined by messages that take random times.

``together``           runs all flows of a program and compares what they compute
``flow_part``          one flow during the run: what it waits for and what it sends
``fabric``             messages under way, their buffers, and the memory interfaces
``program_reference``  the expected values, by the interpreter alone
"""
