"""Tests. Never installed."""
