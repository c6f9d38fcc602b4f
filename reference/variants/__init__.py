"""Ways to make golden weights into files, faithful and not."""
