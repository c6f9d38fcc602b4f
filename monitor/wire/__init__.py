"""From bytes to records: framing, one decoder per protocol, capture file formats. Pure functions of a `Capture`."""
