"""How endpoints are asked: the capturing HTTP client, prompt sets and one file per probe."""
