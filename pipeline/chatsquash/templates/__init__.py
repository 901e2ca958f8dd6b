"""Chat templates: find and render them, check what they lose, and count the tokens of renderings.

Templates are untrusted, so ``confined`` renders them in a separate process (``worker``). The rules about the results
are in ``checks.template``.
"""
