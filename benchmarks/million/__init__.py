"""A data set of a million rows through `verifier score`: memory, speed, and what kills leave."""
