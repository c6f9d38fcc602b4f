"""Streamlit pages on the store's read API."""
