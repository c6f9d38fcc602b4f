"""The heart: nouns, ports, wire decoding, statistics, detectors, schedule, alert policy and config. No I/O."""
