"""Cases, one file per concern; each names the clauses it can convict by the marker `clause`."""
