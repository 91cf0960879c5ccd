"""Power loss, made: a disk of its own below the target, from which everything is taken that was not synced."""
