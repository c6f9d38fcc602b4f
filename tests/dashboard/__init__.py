"""Tests of the dashboard against a fake store."""
