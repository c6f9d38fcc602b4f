"""Faults that the lab can put in front of an endpoint, and the recorded answers of its faulty endpoint."""
