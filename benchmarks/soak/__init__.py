"""The service for weeks in minutes: real processes on loopback, a clock that runs fast, and everything that goes wrong.

``make soak`` (15 minutes), ``make soak ARGS='--minutes 4'``. Exit 0 when every promise held, else 1.
"""
