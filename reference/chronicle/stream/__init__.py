"""Replay of market data: books from snapshots and deltas, trades beside them, on one clock. Core and bus run without it."""
