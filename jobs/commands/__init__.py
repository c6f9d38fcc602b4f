"""The commands: signatures and help; each body imports its work."""
