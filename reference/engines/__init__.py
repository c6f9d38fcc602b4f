"""Engines behind the ports `Client` and `Scorer`, one file each; the one in torch is `reference.engine`."""
