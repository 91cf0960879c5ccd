"""The cold path: a live queue copied to an archive queue, segments compressed, snapshots of state. No writer ever waits for it."""
