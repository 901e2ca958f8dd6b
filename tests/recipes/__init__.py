"""The recipes of docs/recipes are run: what they give is what a local run gives."""
