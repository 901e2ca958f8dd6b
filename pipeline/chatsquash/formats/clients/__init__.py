"""Document formats of chat clients and libraries: one module or package per format."""
