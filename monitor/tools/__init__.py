"""Tool calls: what an answer did, which layer failed, and how often; pure functions of exchanges.

``strict_json``, ``schemas``, ``calls``, ``markup``, ``predicates`` and ``layers`` look at one answer, ``graded`` puts
that together, ``forms`` compares answers, ``measures``, ``k2vv``, ``minimax`` and ``openrouter`` count them,
``triggers`` holds decisions against golden's, ``tolerance`` tests faults. What a probe needs imports no scipy.
"""
