"""Tests of the lab: real local endpoints."""
