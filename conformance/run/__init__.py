"""The run directory: what an examination leaves behind for the judge."""
