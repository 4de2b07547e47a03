"""What the benchmarks of the Python package share."""
