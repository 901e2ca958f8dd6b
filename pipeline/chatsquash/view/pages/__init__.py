"""The pages of the viewer, a module each: what is known in, HTML out."""
