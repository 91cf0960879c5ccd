"""chronicle: an mmap queue with one writer, many readers, segments and recovery; the work is done in src/chronicle."""
