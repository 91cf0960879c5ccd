"""Pure models: what a system must show, as state without files, clocks or processes."""
