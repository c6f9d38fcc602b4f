"""One file per detector: evidence in, verdict out."""
