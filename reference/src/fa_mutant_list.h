/*
 * MUTANT(name, clause it breaks, what is wrong). One deliberate fault each; the examination must catch it under that clause.
 * Included many times on purpose.
 */
MUTANT(crc32_tail, "OMB-19", "the checksum leaves out the bytes after the last multiple of sixteen")
MUTANT(replace_no_fsync, "COM-03", "a file is renamed into place before its bytes are durable")
MUTANT(replace_in_place, "BRG-09", "a file is overwritten where it lies instead of being replaced by rename")
MUTANT(pwrite_short, "SMB-05", "a short write is taken for a whole one")
