"""SMB: the durable multi-topic bus with time-sortable ids (seed 004).

Integers are little-endian, magic included; CRC32 is CRC-32/ISO-HDLC.
"""

from fireassay.spec.clause import Clause, Level, Method

__all__ = ["CLAUSES"]

CLAUSES: tuple[Clause, ...] = (
    Clause(
        id="SMB-01",
        level=Level.MUST,
        title="Record framing on disk",
        statement=(
            "With a payload of P and headers of H bytes a record holds: magic u32 at 0, version u16 at 4, flags u16 at 6, record_len "
            "u32 at 8 (the bytes after it: 36 + P + H), event_id of 16 bytes at 12, timestamp i64 at 28, payload_len u32 at 36, the "
            "payload at 40, headers_len u32 at 40 + P, the headers at 44 + P, and at 44 + P + H a crc32 u32 over everything from "
            "event_id to the end of the headers. The whole record has 48 + P + H bytes."
        ),
        why="Another build cannot read the log, or recovery takes a damaged length for a good one and cuts off valid events.",
        seed="004 §5, §18",
        verified=(Method.LAYOUT, Method.CASE, Method.FUZZ),
        errata=(
            "The seed names no magic number and no encoding of the header map; both are fixed in spec (ours).",
            "The framing shows topic length and bytes while the open questions let the file tell the topic; they are present only "
            "under a flag, which is off by default (ours).",
            "The prefix up to record_len lies outside the CRC; record_len must equal the sum of the parsed lengths, and unknown flags "
            "are damage (ours).",
        ),
    ),
    Clause(
        id="SMB-02",
        level=Level.MUST,
        title="Time-sortable ids and timestamps",
        statement=(
            "An event id is a UUIDv7 of 16 bytes. Within a topic ids grow strictly, also within one millisecond, when the clock steps "
            "back, and after recovery. The timestamp is the greater of now and the last one. Ids convert to text and back."
        ),
        why="A consumer that resumes after its last id skips events that were given smaller ids.",
        seed="004 §4",
        verified=(Method.CASE, Method.MODEL, Method.HISTORY, Method.KILL),
        anomalies=("id-order",),
    ),
    Clause(
        id="SMB-03",
        level=Level.MUST,
        title="Files of the data directory",
        statement=(
            "The data directory holds bus.meta.json and, for each topic, topics/NAME/ with the segments log-%08d.seg and index.snapshot."
        ),
        why="Backup and inspection tools do not find the events, or a new version does not see the old topics.",
        seed="004 §5",
        verified=(Method.LAYOUT, Method.CASE),
    ),
    Clause(
        id="SMB-04",
        level=Level.MUST,
        title="Durability modes keep their promise",
        statement=(
            "There are three modes: every event (publish returns after fsync; concurrent publishers may share one), batch (publish "
            "returns after the write; at most N events or M ms are at risk) and OS-buffered. Each keeps exactly its promise after "
            "process death and after power loss. A caller may await durability."
        ),
        why="An event acknowledged as safe is gone after a power cut, or the user pays for syncs he did not ask for.",
        seed="004 §5",
        verified=(Method.KILL, Method.POWER, Method.CASE, Method.HISTORY),
        anomalies=("lost-write-process", "lost-write-power", "lost-tail", "hole"),
    ),
    Clause(
        id="SMB-05",
        level=Level.MUST,
        title="Recovery cuts tails, skips damage",
        statement=(
            "Recovery cuts a truncated or damaged tail of the last segment at the last whole record, reports the offset and goes on. "
            "Damage in the middle is skipped and reported with its range, and the bus opens."
        ),
        why="One torn record keeps the whole bus from starting, or good events vanish without a word.",
        seed="004 §5",
        verified=(Method.POWER, Method.FAULT, Method.KILL, Method.FUZZ, Method.CASE),
        anomalies=("damage-served", "lost-write-torn", "recovery-not-idempotent"),
    ),
    Clause(
        id="SMB-06",
        level=Level.MUST,
        title="Lookup by id and time",
        statement="Events are found by id, exactly, and by time, giving the first event at or after it; the time index is sampled.",
        why="A replay from a given time begins too late and misses events, or scans the whole log.",
        seed="004 §3, §9",
        verified=(Method.CASE, Method.MODEL),
        anomalies=("wrong-seek",),
    ),
    Clause(
        id="SMB-07",
        level=Level.MUST,
        title="Index snapshot is never trusted",
        statement=(
            "The index snapshot is validated against the log and ignored when wrong; recovery gives the same result with it and without it."
        ),
        why="A stale snapshot after a crash points into the wrong records, or hides events that are in the log.",
        seed="004 §9",
        verified=(Method.FAULT, Method.KILL, Method.CASE),
        anomalies=("reopen-divergence", "wrong-seek"),
    ),
    Clause(
        id="SMB-08",
        level=Level.MUST,
        title="Where a subscription starts",
        statement=(
            "A subscription starts at the beginning, now, at a timestamp, or at an id, inclusively or exclusively; an unknown id "
            "starts at the first greater one."
        ),
        why="A consumer sees its last event again or misses the next one after each restart.",
        seed="004 §6",
        verified=(Method.CASE, Method.MODEL),
        anomalies=("wrong-seek", "silent-late-start"),
    ),
    Clause(
        id="SMB-09",
        level=Level.MUST,
        title="Backlog, then live, without seam",
        statement="A subscription delivers the backlog and then live events, without gap or duplicate at the seam.",
        why="Events published while the subscriber catches up are lost or come twice.",
        seed="004 §6, §8",
        verified=(Method.CASE, Method.HISTORY),
        anomalies=("seam-gap", "seam-duplicate"),
    ),
    Clause(
        id="SMB-10",
        level=Level.MUST,
        title="One writer and order per topic",
        statement="Each topic has one writer and one total order; many producers may publish to it.",
        why="Two subscribers see the same events in different orders and come to different results.",
        seed="004 §7",
        verified=(Method.HISTORY, Method.MODEL, Method.CASE),
        anomalies=("reorder", "reader-disagreement"),
    ),
    Clause(
        id="SMB-11",
        level=Level.MUST,
        title="Rotation of full segments",
        statement="A segment is rotated at max_segment_bytes; old segments are immutable.",
        why="One file grows without bound, or a backup of a finished segment becomes invalid later.",
        seed="004 §10",
        verified=(Method.CASE, Method.KILL),
        anomalies=("reopen-divergence",),
    ),
    Clause(
        id="SMB-12",
        level=Level.MUST,
        title="Bounded channels, isolated slow subscribers",
        statement=(
            "The producer channel is bounded and exerts back pressure; the subscriber buffer is bounded as well. A slow subscriber "
            "harms nobody else and loses nothing that it can replay."
        ),
        why="One stuck subscriber fills the memory or stops the publishers, or it loses events unnoticed.",
        seed="004 §7, §11",
        verified=(Method.CASE, Method.HISTORY, Method.MODEL),
        anomalies=("silent-drop", "contagion", "gap"),
    ),
    Clause(
        id="SMB-13",
        level=Level.MUST,
        title="Limits on names and sizes",
        statement=(
            "Topic names are limited in length and alphabet, so that no name escapes its directory; payloads are limited in size. "
            "Lengths are checked before anything is allocated."
        ),
        why="A topic called ../../etc writes outside the data directory, or a damaged length asks for gigabytes.",
        seed="004 §16",
        verified=(Method.FUZZ, Method.CASE),
        anomalies=("limit-violated",),
    ),
    Clause(
        id="SMB-14",
        level=Level.MUST,
        title="Second process is refused",
        statement="A second process that opens the same directory is refused.",
        why="Two writers interleave their bytes in one segment and destroy both streams.",
        seed="004 §7",
        verified=(Method.CASE, Method.KILL),
        anomalies=("split-writer",),
    ),
    Clause(
        id="SMB-15",
        level=Level.MUST,
        title="Async API and clean shutdown",
        statement="The API is asynchronous: open, topic, publish, subscribe, next, shutdown. A shutdown loses nothing.",
        why="Events accepted just before an orderly stop are missing after the restart.",
        seed="004 §8",
        verified=(Method.CASE, Method.KILL, Method.HISTORY),
        anomalies=("lost-write-process", "unseen"),
    ),
    Clause(
        id="SMB-16",
        level=Level.SHOULD,
        title="Headers with an event",
        statement="An event may carry headers, a small map of strings to strings, which a subscriber gets back unchanged.",
        why="Users hide metadata such as trace ids in the payload, each in a different way.",
        seed="004 §3, §8",
        verified=(Method.CASE,),
    ),
    Clause(
        id="SMB-17",
        level=Level.MUST,
        title="Command line tools",
        statement="The command line offers init, publish, tail and replay.",
        why="An operator must write a program to look into a topic.",
        seed="004 §15",
        verified=(Method.CASE,),
    ),
    Clause(
        id="SMB-18",
        level=Level.MUST,
        title="Logs, warnings and metrics",
        statement=(
            "The bus logs its start-up and the recovered topics, each truncation with offsets, and each rotation. It should also log "
            "rates and subscribers that join and leave, and offer the metrics of section 12: events per second per topic, fsync "
            "latency, queue depth of each topic writer, subscriber lag."
        ),
        why="Nobody learns that recovery has cut off events, or why publishing has become slow.",
        seed="004 §12",
        verified=(Method.CASE, Method.FAULT),
    ),
    Clause(
        id="SMB-19",
        level=Level.MUST,
        title="Configuration and defaults",
        statement=(
            "Configurable are max_segment_bytes (256 MB), timestamp_index_stride (10,000), channel_capacity, subscriber_buffer and the "
            "limits."
        ),
        why="A small machine runs out of memory or disk with sizes that cannot be changed.",
        seed="004 §11",
        verified=(Method.CASE,),
    ),
    Clause(
        id="SMB-P1",
        level=Level.PERFORMANCE,
        title="Publish, subscribe and tail rates",
        statement=(
            "A benchmark measures publishing, subscribing and tailing on a single topic and on many: events per second, median and "
            "99th percentile latency, CPU."
        ),
        why="A user cannot tell what a durability mode costs, nor whether a new version has become slower.",
        seed="004 §14",
        verified=(Method.BENCHMARK,),
        anomalies=("gate",),
    ),
)
