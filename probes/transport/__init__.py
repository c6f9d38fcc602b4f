"""Our own HTTP/1.1 transport under httpx: every read stamped as it arrives, nothing decoded, nothing hidden."""
