"""A second corpus, written from the providers' documentation without looking at the rules, and not changed for them."""
