"""Java with one compiler of the JVM, and with both: `python -m benchmarks.java_tiers`."""
