"""Style sheets and modules that the pages of the viewer load."""
