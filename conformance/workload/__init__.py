"""What is written and read in an examination: payloads that say who wrote them, and ports that record every call."""
