"""What must hold: clauses, layouts, promises, history and the plain checks. Imports nothing of ours."""
