"""The examination: recorder, cases, and the gate between cases and clauses."""
