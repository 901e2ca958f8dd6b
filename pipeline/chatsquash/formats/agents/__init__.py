"""Files in which agents and tracers keep their sessions; one module or folder each."""
