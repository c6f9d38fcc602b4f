"""The catalogue of faults: 44 ways in which an endpoint goes wrong, what each looks like, and how it is found.

``kinds`` and ``catalogue`` are data, ``profiles`` the policies that make a symptom a fault, ``find`` names the faults
of one exchange, ``pairs`` those that two exchanges show, ``behaviour`` those that only a comparison with the reference
shows, with alpha and power.
"""
