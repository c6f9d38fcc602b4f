"""Tests of the golden reference."""
