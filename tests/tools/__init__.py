"""Tool calls: predicates, strict JSON, schemas, layers, metrics, suite, golden tables."""
