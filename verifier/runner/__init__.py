"""What runs inside a slot: the jail (jail.c), the agent around it, and what builds both.

The agent (`verifier/runner/agent`) is stdlib only, imports nothing of this package, and is shipped
to slots as a zipapp; it runs under the system's Python, never under the caller's.
"""
