"""The COM clauses: comet, a sharded segmented log with a durable index and consumer groups (seed 002).

All integers are little-endian, magics included; zstd's magic is the bytes 28 B5 2F FD.
"""

from fireassay.spec.clause import Clause, Level, Method

__all__ = ["CLAUSES"]

CLAUSES: tuple[Clause, ...] = (
    Clause(
        id="COM-01",
        level=Level.MUST,
        title="Entry layout of data files",
        statement=(
            "An entry in a data file is a 12-byte header followed by the data: length u32 at 0 (bytes of data alone, without the "
            "header), timestamp u64 at 4 (Unix nanoseconds), data at 12. Entries follow each other without padding."
        ),
        why="A reader that counts the header into the length loses its place after the first entry and takes payload for headers.",
        seed="002 Wire Format",
        verified=(Method.LAYOUT, Method.FUZZ),
    ),
    Clause(
        id="COM-02",
        level=Level.MUST,
        title="Compression told by its magic",
        statement=(
            "Data above a configurable threshold is compressed with zstd. A reader recognises it by the four bytes 28 B5 2F FD at the "
            "start of the data, without a flag, and returns the original bytes."
        ),
        why="A user who logs files that are already zstd-compressed gets them back unpacked, or gets an error in their place.",
        seed="002 Wire Format",
        verified=(Method.LAYOUT, Method.CASE, Method.FUZZ),
        errata=(
            "Erratum: raw data that itself begins with the zstd magic would be mistaken for compressed data. Ruling: such data is "
            "always stored compressed, whatever its size, so that every payload round-trips.",
        ),
    ),
    Clause(
        id="COM-03",
        level=Level.MUST,
        title="Layout of the index file",
        statement=(
            "index.bin has a 36-byte header: magic 0x434F4D54 u32 at 0, version 1 u32 at 4, current entry number u64 at 8, current "
            "write offset u64 at 16, consumer count u32 at 24, index node count u32 at 28, file count u32 at 32. The nodes follow, 20 "
            "bytes each: entry number u64, file index u32, byte offset u64. Then one record of 50 bytes plus the path per file: path "
            "length u16, path, start offset u64, end offset u64, start entry u64, entry count u64, start time u64, end time u64, both "
            "in Unix nanoseconds."
        ),
        why="An index half written when the power failed would hide durable entries or point consumers into the middle of others.",
        seed="002 Index Format",
        verified=(Method.LAYOUT, Method.POWER, Method.FUZZ),
        errata=(
            "Erratum: the header counts consumers but no section for them follows. Ruling: the consumer count is 0.",
            (
                "Erratum: the seed leaves open whether the current entry is the last one or the next. Ruling: it is the number of "
                "durable entries; entry n is visible iff n is less than it."
            ),
            (
                "Erratum: the index has no checksum. Ruling: it is validated against the data files on open, and replaced atomically by "
                "a synced temporary file and a rename followed by fsync of the directory."
            ),
        ),
    ),
    Clause(
        id="COM-04",
        level=Level.MUST,
        title="Layout of the state file",
        statement=(
            "Each shard has a comet.state of 1,024 bytes whose 8-byte fields are packed from the start of each section: header at 0, "
            "write metrics at 64, compression at 128, latency at 192, file operations at 256, checkpoints at 320, consumers at 384, "
            "errors at 448, retention at 512 (to 639), reader cache at 768 (to 831), reserved from 832 to 1,023. The header holds "
            "version, write offset, last entry number, last index update, active file index, file size and last file sequence. Fields "
            "are updated atomically."
        ),
        why=(
            "A monitor or a second process that maps the file by another reading reports evictions as errors and takes the wrong write "
            "offset."
        ),
        seed="002 Writer State (comet.state)",
        verified=(Method.LAYOUT,),
        errata=(
            "Erratum: the line numbers of the last sections disagree with their byte offsets. Ruling: the offsets printed in "
            "parentheses hold, and 640 to 767 is reserved and zero.",
        ),
    ),
    Clause(
        id="COM-05",
        level=Level.MUST,
        title="Layout of the offsets file",
        statement=(
            "offsets.state begins with a 64-byte header: version 1 u32 at 0, magic 0xC0FE0FF5 u32 at 4, 56 bytes reserved. 512 entries "
            "of 128 bytes follow, two cache lines each: group name of 48 bytes, null-terminated, at 0; offset u64 at 48; last update in "
            "Unix nanoseconds u64 at 56; acknowledgement count u64 at 64; 56 bytes reserved at 72."
        ),
        why="A file cut to 65,536 bytes has no room for the last group, whose acknowledgements end in a SIGBUS.",
        seed="002 Consumer Offset Storage (offsets.state)",
        verified=(Method.LAYOUT, Method.FUZZ),
        errata=("Erratum: the seed calls the file 64 KB. Ruling: header and entries come to 65,600 bytes, and that is the file's size.",),
    ),
    Clause(
        id="COM-06",
        level=Level.MUST,
        title="Group slots are claimed safely",
        statement=(
            "A group's slot is found by 32-bit FNV-1a over its name modulo 512, with linear probing from there; a slot whose first name "
            "byte is zero is empty. Processes that claim at once never share a slot and never lose one; reads and writes need no lock."
        ),
        why="Two groups that start in the same instant share one offset, and each skips what the other has read.",
        seed="002 Consumer Offset Storage (offsets.state)",
        verified=(Method.CASE, Method.KILL, Method.MODEL),
        errata=(
            "Ours: a state word in the reserved bytes at 72 is claimed by compare-and-swap before the name is written, and a claim "
            "whose claimant died is recoverable.",
        ),
    ),
    Clause(
        id="COM-07",
        level=Level.MUST,
        title="Unsynced entries are invisible",
        statement=(
            "A consumer never sees an entry that is not synced. The index holds durable entries only; next entry number and pending "
            "write offset are volatile and known to the writer alone."
        ),
        why="A consumer acts on an entry that the next crash removes, and its number is then given to another entry.",
        seed="002 Core Architectural Principle",
        verified=(Method.HISTORY, Method.CASE, Method.POWER),
    ),
    Clause(
        id="COM-08",
        level=Level.MUST,
        title="Sync makes earlier appends durable",
        statement=(
            "When sync returns, every append that returned before it is durable and visible, in append order, on every shard: buffered "
            "bytes are flushed and synced, then the current entry number and write offset of the index move, the index is persisted, "
            "and the mapped state is updated."
        ),
        why="An index that reaches the disk before its data promises consumers entries that consist of zeros.",
        seed="002 Sync Path (Make Durable)",
        verified=(Method.POWER, Method.HISTORY, Method.CASE),
    ),
    Clause(
        id="COM-09",
        level=Level.MUST,
        title="Sequential entry numbers per shard",
        statement=(
            "Entries of a shard are numbered one after the other, across file rotation and across restarts, and append returns the "
            "numbers it gave."
        ),
        why="Numbering that starts at 0 again after the index was lost makes every stored consumer offset point past the end.",
        seed="002 Entry-Based Addressing",
        verified=(Method.HISTORY, Method.KILL, Method.MODEL),
        errata=(
            "Ours: the name of a data file carries its first entry number, so that numbering survives retention together with loss of "
            "the index.",
        ),
    ),
    Clause(
        id="COM-10",
        level=Level.MUST,
        title="Rotation by pending write offset",
        statement=(
            "A data file rotates when the pending write offset, which includes buffered bytes, passes the maximum size. A file that was "
            "rotated is never changed again."
        ),
        why=(
            "Rotation that looks at flushed bytes alone lets files outgrow their limit, and a reader's map of an old file is pulled "
            "from under it."
        ),
        seed="002 Write Path (Volatile)",
        verified=(Method.CASE, Method.HISTORY),
    ),
    Clause(
        id="COM-11",
        level=Level.MUST,
        title="Keys map to fixed shards",
        statement="An append with a key always goes to the same shard for that key; without a key the shards are taken in turn.",
        why="The updates of one account spread over two shards and are consumed out of order.",
        seed="002 Client",
        verified=(Method.CASE, Method.MODEL),
    ),
    Clause(
        id="COM-12",
        level=Level.MUST,
        title="Groups keep their acknowledged offsets",
        statement=(
            "Acknowledged offsets of a consumer group persist across restarts, apart from the writer's index. Groups are isolated from "
            "each other. What was not acknowledged is delivered again; within one run each entry is delivered to a group once."
        ),
        why="A worker that dies between reading and acknowledging takes entries with it that nobody will ever process.",
        seed="002 Consumer",
        verified=(Method.HISTORY, Method.KILL, Method.CASE),
        errata=(
            "Erratum: the seed claims exactly-once delivery through acknowledgements. Ruling: that holds within a run; across restarts "
            "delivery is at least once.",
        ),
    ),
    Clause(
        id="COM-13",
        level=Level.MUST,
        title="Shards are assigned deterministically",
        statement=(
            "With n consumers in a group each shard belongs to exactly one of them. The assignment follows from consistent hashing "
            "alone, comes out the same on every machine, and moves few shards when n changes."
        ),
        why="Two hosts compute different owners, so that one shard is processed twice and another not at all.",
        seed="002 Consumer",
        verified=(Method.MODEL, Method.CASE),
    ),
    Clause(
        id="COM-14",
        level=Level.MUST,
        title="Batch read and process loop",
        statement=(
            "Consumers read in batches of a bounded size and offer a process loop that hands batches to a callback, acknowledges what "
            "was processed, and stops on request."
        ),
        why=(
            "Without a loop that acknowledges after processing, each user writes one, and many acknowledge first and lose a batch per "
            "crash."
        ),
        seed="002 Consumer",
        verified=(Method.CASE, Method.HISTORY),
    ),
    Clause(
        id="COM-15",
        level=Level.MUST,
        title="Reader cache is bounded and fresh",
        statement=(
            "A reader maps data files on demand and keeps the maps in an LRU cache bounded in bytes. A map that became stale after "
            "growth or rotation is noticed and replaced atomically. A map is pinned while a zero-copy view into it is out. A reader in "
            "another process sees newly synced entries without reopening."
        ),
        why="An evicted map under a live view crashes the consumer, and a stale one makes it believe the log has stopped.",
        seed="002 Reader",
        verified=(Method.CASE, Method.HISTORY, Method.MODEL),
    ),
    Clause(
        id="COM-16",
        level=Level.MUST,
        title="Retention protects unconsumed data",
        statement=(
            "Retention removes whole files by age and by total size. Data that some group has not consumed is protected up to a hard "
            "ceiling; passing the ceiling is reported. The index is updated atomically before the files go."
        ),
        why="A file deleted before the index forgets it turns each later open into an error, and a forgotten group fills the disk.",
        seed="002 Retention Path",
        verified=(Method.HISTORY, Method.CASE, Method.KILL),
    ),
    Clause(
        id="COM-17",
        level=Level.MUST,
        title="A lost index is rebuilt",
        statement=(
            "Where index.bin is missing or corrupt it is rebuilt from the .comet data files, entry by entry, with file records, search "
            "nodes and consumer offsets, and is persisted. If everything had been synced the rebuilt index is identical to the lost "
            "one; otherwise it may add whole entries that were not synced, and these are made durable before they are visible."
        ),
        why="Losing one small file would otherwise mean losing access to every byte of data that is still on the disk.",
        seed="002 Index Rebuilding Process",
        verified=(Method.FAULT, Method.MODEL, Method.POWER),
    ),
    Clause(
        id="COM-18",
        level=Level.MUST,
        title="Damaged entries are skipped and counted",
        statement=(
            "A damaged entry is skipped, counted and logged with its place; the remaining valid data is served. A skipped entry keeps "
            "its number."
        ),
        why="One bad sector would otherwise stop a consumer for good or shift the numbers of everything behind it.",
        seed="002 Recovery Scenarios",
        verified=(Method.FAULT, Method.FUZZ, Method.HISTORY),
        errata=(
            (
                "Erratum: the entry has no checksum. Ruling: damage is found by structure, that is by an impossible length, a timestamp "
                "of 0 or a broken zstd frame."
            ),
            (
                "Erratum: the seed does not say where to go on. Ruling: after a bad length reading resumes at the next index node or at "
                "the next file."
            ),
            (
                "Ours: damage that structure cannot reveal, such as a flipped bit in raw data, is stated in the certificate as not "
                "detectable."
            ),
        ),
    ),
    Clause(
        id="COM-19",
        level=Level.MUST,
        title="A damaged state file is rebuilt",
        statement=(
            "A damaged comet.state is reset to safe defaults and rebuilt from the index and the data files. Metrics may be lost, data "
            "is not."
        ),
        why="A wrong write offset taken from a damaged state file would make the writer overwrite durable entries.",
        seed="002 Recovery Scenarios",
        verified=(Method.FAULT, Method.FUZZ),
    ),
    Clause(
        id="COM-20",
        level=Level.MUST,
        title="Torn writes are cut back",
        statement=(
            "When a process dies during a write the file is cut back to its last whole entry on the next open, the index is brought "
            "into line with it, and writing goes on from there."
        ),
        why="New entries appended behind half an old one are unreadable, although their sync was ok.",
        seed="002 Recovery Scenarios",
        verified=(Method.KILL, Method.POWER, Method.HISTORY),
    ),
    Clause(
        id="COM-21",
        level=Level.MUST,
        title="After a crash nothing synced is missing",
        statement=(
            "After any crash every synced entry is there; unsynced ones may be lost; nothing is delivered that was not appended. "
            "Consumer offsets survive on their own in offsets.state."
        ),
        why="Callers that waited for sync have told others the data is safe.",
        seed="002 Data Consistency Guarantees",
        verified=(Method.KILL, Method.POWER, Method.HISTORY),
    ),
    Clause(
        id="COM-22",
        level=Level.MUST,
        title="One process owns a shard",
        statement=(
            "With n processes, process id owns the shards for which shard % n == id. A second writer of a shard is refused; the shards "
            "of a dead owner can be opened again."
        ),
        why="Two processes that append to one file interleave their bytes and give the same number twice.",
        seed="002 Multi-Process Safety",
        verified=(Method.CASE, Method.HISTORY, Method.KILL),
    ),
    Clause(
        id="COM-23",
        level=Level.SHOULD,
        title="State file metrics are right",
        statement=(
            "Every metric of the state file is kept and agrees with what happened: writes, compression, latency, file operations, "
            "checkpoints, consumers, errors, retention and reader cache."
        ),
        why="An operator who sees zero for failed writes or consumer lag looks for the fault everywhere but in the log.",
        seed="002 Writer State (comet.state)",
        verified=(Method.CASE, Method.LAYOUT),
    ),
    Clause(
        id="COM-24",
        level=Level.SHOULD,
        title="Old offset files are migrated",
        statement="An offsets.bin of the older file-based format is migrated to offsets.state on open, with every group's offset kept.",
        why="An upgrade that starts every group at 0 has years of entries processed again.",
        seed="002 Consumer Offset Storage (offsets.state)",
        verified=(Method.CASE, Method.KILL),
    ),
    Clause(
        id="COM-25",
        level=Level.MUST,
        title="Group limits give clear errors",
        statement=(
            "A group name that does not fit 48 bytes with its terminating null, and a 513th group in a shard, are refused with a clear "
            "error; existing groups are unaffected."
        ),
        why="Two long names cut to the same 47 bytes share an offset, and each group loses what the other has acknowledged.",
        seed="002 Consumer Offset Storage (offsets.state)",
        verified=(Method.CASE, Method.FUZZ),
    ),
    Clause(
        id="COM-26",
        level=Level.MUST,
        title="Thread-safe API and complete close",
        statement=(
            "All public methods may be called from many threads at once, under the lock order client, shard, then write or index lock. "
            "Close flushes and syncs everything that was appended, and the index then agrees with the files."
        ),
        why="An orderly shutdown that leaves the last buffer in memory loses more than most crashes do.",
        seed="002 Thread Safety & Race Condition Prevention",
        verified=(Method.CASE, Method.HISTORY),
    ),
    Clause(
        id="COM-27",
        level=Level.SHOULD,
        title="Aggregated metrics and layered configuration",
        statement=(
            "The client aggregates the metrics of its shards. Configuration is hierarchical, with sensible defaults: a user who sets "
            "nothing gets a working log, and a setting changes only what it names."
        ),
        why="Without sums over shards nobody notices that one of 64 falls behind, and without defaults a first trial ends in a manual.",
        seed="002 Client",
        verified=(Method.CASE,),
    ),
    Clause(
        id="COM-P1",
        level=Level.PERFORMANCE,
        title="Append latency and throughput",
        statement=(
            "Append takes less than 1 µs typically and less than 10 µs at p99, and one shard takes more than 1 million entries per second."
        ),
        why="A log slower than that stalls the thread that calls it, and users put a lossy queue of their own in front of it.",
        seed="002 Write Performance",
        verified=(Method.BENCHMARK,),
    ),
    Clause(
        id="COM-P2",
        level=Level.PERFORMANCE,
        title="Read latency, scaling and memory",
        statement=(
            "A read of recent data takes less than 100 µs, throughput grows linearly with the number of readers, and memory is about 65 "
            "KB of state plus the configured bound of the map cache."
        ),
        why="A second consumer that halves the speed of the first, or a cache without a bound, makes adding readers a production risk.",
        seed="002 Read Performance",
        verified=(Method.BENCHMARK,),
    ),
)
