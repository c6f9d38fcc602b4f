"""The only SQL: the agent's spool, the DuckDB store, its ingest and read API."""
