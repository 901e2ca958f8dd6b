"""Exchange formats of providers: one package per format."""
