"""Payloads of market data, as bytes: what feeds write and what the stream layer replays. Fixed fields, numbers as integers."""
