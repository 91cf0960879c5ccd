"""The flight recorder: rows that survive kill -9, and their way to Parquet."""
