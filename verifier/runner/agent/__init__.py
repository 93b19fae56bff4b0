"""The in-jail agent.

Imports the standard library only; see `__main__` for the theory of operation.
"""
