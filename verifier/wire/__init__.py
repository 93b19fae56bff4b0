"""What both ends of the wire share: values <-> messages, errors <-> statuses, forks.

The messages themselves are generated into `verifier.v1`; nothing below the gateway and the client
sees them.
"""
