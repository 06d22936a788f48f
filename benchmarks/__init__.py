"""The figures of DESIGN.md 12, each beside the floor that this machine reached in the same minutes.

Owns how they are measured and their targets. Drives Push as its users do: the command line, real processes, and
push.db opened for reading; nothing here but `history_driver`, which is a process of its own, imports push.
"""
