"""Suites of other programs, one format a file: text in, rows of our own schema and a list of what has no place in it.

Nothing in a foreign suite is executed: templates are filled in only where they are plain names, functions are listed.
"""
