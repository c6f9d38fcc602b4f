"""Families of generated cases, one a file: fresh instances from a secret seed, in levels of difficulty."""
