"""Tool calls: what an answer did, which layer failed, and how often; pure functions of exchanges.

``strict_json``, ``schemas``, ``calls``, ``markup``, ``predicates`` and ``layers`` look at one answer, ``graded`` puts
that together, ``measures`` and ``compatible`` count, ``triggers`` holds decisions against golden's.
"""
