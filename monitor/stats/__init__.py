"""Statistics: arrays in, frozen results out. Knows no domain type."""
