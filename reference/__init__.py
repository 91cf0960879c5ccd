"""One implementation that holds the specification: a C11 core and its thin Python faces."""
