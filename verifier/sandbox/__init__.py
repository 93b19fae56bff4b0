"""Backends that run programs: see `verifier.sandbox.base` for the contract they share."""
