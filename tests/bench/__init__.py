"""What the benchmark computes."""
