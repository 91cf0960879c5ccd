"""OMB: the WAL distribution bus (seed 000) — shared-memory ring, WAL replay, TCP relay.

Integers are little-endian, magics included; CRC32 is CRC-32/ISO-HDLC.
"""

from fireassay.spec.clause import Clause, Level, Method

__all__ = ["CLAUSES"]

CLAUSES: tuple[Clause, ...] = (
    Clause(
        id="OMB-01",
        level=Level.MUST,
        title="Ring slot header and payload",
        statement=(
            "A ring slot starts with a 24-byte header: seq u64 at 0, wal_seq u64 at 8, wal_type u8 at 16, a reserved u8 at 17, "
            "payload_len u16 at 18 and the payload's crc32 u32 at 20. The payload follows inline and may take up to slot_size − 24 "
            "bytes. A slot has 256 bytes by default."
        ),
        why="A consumer built by somebody else would take its fields from the wrong bytes and deliver rubbish as orders.",
        seed="000 §3.1",
        verified=(Method.LAYOUT, Method.CASE),
        errata=("seq is an atomic word, and the seed lets a slot have any size; a slot has a multiple of 8 bytes (ours).",),
    ),
    Clause(
        id="OMB-02",
        level=Level.MUST,
        title="Header page of the region",
        statement=(
            "The region starts with a page of 4096 bytes: magic 0x4F4D4253 at 0, version 1 at 4, slot_size at 8, capacity at 12, "
            "max_consumers at 16, flags at 20 (each u32), head u64 at 24, min_tail u64 at 32, stream_name of 64 bytes at 40; the rest "
            "is zero padding, but for the incarnation number of OMB-25 at 104."
        ),
        why="An endpoint that finds other geometry than the producer meant computes wrong slot addresses and reads foreign memory.",
        seed="000 §3.2",
        verified=(Method.LAYOUT, Method.CASE),
    ),
    Clause(
        id="OMB-03",
        level=Level.MUST,
        title="One cache line per tail",
        statement=(
            "Each consumer owns a tail record of 64 bytes on a 64-byte boundary: tail u64 at 0, the wal_seq last consumed u64 at 8, "
            "then padding."
        ),
        why=(
            "Tails that share a cache line slow each other down, and a tail at the wrong offset makes the producer overwrite unread "
            "records."
        ),
        seed="000 §3.2",
        verified=(Method.LAYOUT, Method.CASE),
    ),
    Clause(
        id="OMB-04",
        level=Level.MUST,
        title="Order and size of the region",
        statement=(
            "The region consists of the 4096-byte header page, then max_consumers × 64 bytes of tails, then capacity × slot_size bytes "
            "of slots, and nothing else. With the defaults (4096 slots of 256 bytes, 8 consumers) that is 1,053,184 bytes."
        ),
        why="A region that is too short kills a process with SIGBUS at its last slots, and a different order breaks every foreign reader.",
        seed="000 §3.2, §7.2",
        verified=(Method.LAYOUT, Method.CASE),
    ),
    Clause(
        id="OMB-05",
        level=Level.MUST,
        title="TCP frame header",
        statement=(
            "Each TCP frame begins with 16 bytes: magic u32 0x4F4D4246 at 0, msg_type u8 at 4, flags u8 at 5, body_len u16 at 6 (bytes "
            "after the header) and wal_seq u64 at 8."
        ),
        why="Client and relay lose frame alignment, and the remote worker receives nothing or nonsense.",
        seed="000 §4.2",
        verified=(Method.LAYOUT, Method.CASE),
    ),
    Clause(
        id="OMB-06",
        level=Level.MUST,
        title="Body of a DATA frame",
        statement=(
            "The body of a DATA frame holds wal_type u8 at 0, a reserved u8 at 1, payload_len u16 at 2, crc32 u32 at 4 and then "
            "payload_len bytes of payload."
        ),
        why="A remote consumer cannot tell the record's type or check its payload, so damage on the way goes unseen.",
        seed="000 §4.3",
        verified=(Method.LAYOUT, Method.CASE),
    ),
    Clause(
        id="OMB-07",
        level=Level.MUST,
        title="Body of BATCH_DATA and GAP_RESPONSE",
        statement=(
            "The body of a BATCH_DATA frame holds the record count u16 at 0, a reserved u16 at 2, total_payload_len u32 at 4 and then "
            "the records, each laid out like a DATA body; the frame's wal_seq is that of the first record. A GAP_RESPONSE has the same "
            "body."
        ),
        why="A batch that overflows its length field or jumps in sequence makes the client number records wrongly, without any error.",
        seed="000 §4.3",
        verified=(Method.LAYOUT, Method.CASE, Method.FUZZ),
        errata=(
            "body_len is a u16, but nothing bounds a batch; a batch that would exceed 65,535 bytes is split into several frames.",
            "A slot may be larger than any frame; the relay refuses a stream whose slots allow a record that fits no frame (payload "
            "above 65,519 bytes in a batch).",
            "A batch carries only its first wal_seq; it therefore holds consecutive sequences only and is flushed at a discontinuity.",
        ),
    ),
    Clause(
        id="OMB-08",
        level=Level.MUST,
        title="Heartbeat and death of the relay",
        statement=(
            "A HEARTBEAT has no body and carries the latest published sequence in wal_seq. The relay sends one every 100 ms in which "
            "no data frame was sent. A client that hears nothing for 3 intervals declares the relay dead."
        ),
        why="A client of a dead or cut-off relay waits for ever and trades on stale data, believing that the market is quiet.",
        seed="000 §4.3",
        verified=(Method.LAYOUT, Method.CASE, Method.FAULT),
    ),
    Clause(
        id="OMB-09",
        level=Level.MUST,
        title="Gap request and its answer",
        statement=(
            "GAP_REQUEST carries from u64 and to u64 and means the half-open range [from, to). The relay answers with GAP_RESPONSE "
            "frames replayed from the WAL and ends the answer with one whose count is 0."
        ),
        why="A client cannot close its gap, or never learns that the answer is complete, and waits for records that do not exist.",
        seed="000 §4.3, §4.4",
        verified=(Method.LAYOUT, Method.CASE, Method.HISTORY),
        errata=(
            "Records of the answer lie below the client's expected sequence and would be dropped as duplicates; the requested range is "
            "exempt from OMB-18 and each of its records is delivered once.",
        ),
        anomalies=("gap", "duplicate-delivered"),
    ),
    Clause(
        id="OMB-10",
        level=Level.MUST,
        title="Subscribe and its acknowledgement",
        statement=(
            "SUBSCRIBE carries start_seq u64 (0 means latest) and a stream_name of 64 bytes. SUBSCRIBE_ACK carries status u32 (0 means "
            "accepted) and current_seq u64."
        ),
        why="A client that asks for history starts at the wrong record, or takes a refusal for an acceptance.",
        seed="000 §4.3",
        verified=(Method.LAYOUT, Method.CASE),
    ),
    Clause(
        id="OMB-11",
        level=Level.MUST,
        title="Publication order within a slot",
        statement=(
            "The producer writes payload and header fields before it release-stores head + 1 into the slot's seq, and only then "
            "release-stores the new head. A reader that acquires this seq sees the whole record."
        ),
        why="A consumer on another core sees a record as ready while half of its bytes are still those of the previous lap.",
        seed="000 §3.3",
        verified=(Method.CASE, Method.MODEL, Method.HISTORY, Method.INSPECTION),
        errata=(
            "The seed's re-check of seq after the copy finds nothing while a slot is half rewritten; seq is 0 while the "
            "producer writes the slot (ours).",
        ),
        anomalies=("corrupt",),
    ),
    Clause(
        id="OMB-12",
        level=Level.MUST,
        title="Oversized record is refused",
        statement=(
            "Publishing a record of more than slot_size − 24 bytes returns −806; nothing of it becomes visible and the stream stays usable."
        ),
        why="One large order truncates itself or its neighbour, or takes the whole stream down.",
        seed="000 §3.1, §5.3",
        verified=(Method.CASE, Method.FUZZ),
        anomalies=("limit-violated",),
    ),
    Clause(
        id="OMB-13",
        level=Level.MUST,
        title="Full ring blocks, never drops",
        statement=(
            "A producer that meets a full ring waits: it spins, recomputes min_tail every 32 spins, and yields when this lasts. No "
            "record is dropped and no unread record is overwritten."
        ),
        why="The slowest consumer silently loses records at the very moment of the highest load.",
        seed="000 §3.3, §3.5",
        verified=(Method.CASE, Method.MODEL, Method.HISTORY),
        errata=(
            "The seed lets consumers refresh min_tail as well, which races; only the producer writes min_tail.",
            "The seed does not say how unused consumer slots count; a slot with tail = 2^64−1 is unregistered and does not count, so "
            "unused slots never stall the producer.",
        ),
        anomalies=("silent-drop", "overwritten-view"),
    ),
    Clause(
        id="OMB-14",
        level=Level.MUST,
        title="Poll never blocks",
        statement=(
            "A poll returns at once: 1 with a record, 0 when there is none, a negative code on error. A record is ready exactly if its "
            "slot's seq equals tail + 1."
        ),
        why="A worker with other duties hangs in an empty stream, or takes a slot of an earlier lap for a new record.",
        seed="000 §3.4, §5.4",
        verified=(Method.CASE, Method.MODEL),
        anomalies=("stuck-reader",),
    ),
    Clause(
        id="OMB-15",
        level=Level.MUST,
        title="Copying and zero-copy polling",
        statement=(
            "An endpoint polls either by copy or without one, as configured; in both ways the payload it hands out stays valid and "
            "unchanged until the next poll or the close."
        ),
        why="A worker that parses an order in place sees it change under its eyes when the producer laps the ring.",
        seed="000 §3.4, §5.2, §5.4",
        verified=(Method.CASE, Method.MODEL, Method.HISTORY),
        errata=(
            "§3.4 advances the tail inside the poll, so the producer may overwrite a zero-copy payload in use; the tail of a zero-copy "
            "record is released by the next poll or by close.",
        ),
        anomalies=("overwritten-view", "corrupt"),
    ),
    Clause(
        id="OMB-16",
        level=Level.MUST,
        title="Batch poll equals repeated polls",
        statement=(
            "poll_batch delivers exactly the records, in the same order, that repeated single polls would, and the two may be mixed "
            "freely on one endpoint."
        ),
        why="A worker switched to batches for speed loses or repeats records at the batch boundaries.",
        seed="000 §5.4",
        verified=(Method.CASE, Method.MODEL),
    ),
    Clause(
        id="OMB-17",
        level=Level.MUST,
        title="Sequence gap is reported",
        statement=(
            "A record whose wal_seq is above the expected one makes the poll return −810 with the record filled in; the expected "
            "sequence becomes wal_seq + 1."
        ),
        why="A consumer never learns that records are missing and keeps a wrong book from then on.",
        seed="000 §3.6, §5.4, §6.1",
        verified=(Method.CASE, Method.MODEL, Method.HISTORY),
        anomalies=("gap",),
    ),
    Clause(
        id="OMB-18",
        level=Level.MUST,
        title="Duplicate is skipped and counted",
        statement=(
            "A record whose wal_seq is below the expected one is a duplicate: it is skipped, counted and warned about, and never delivered."
        ),
        why="An order or a match is applied twice after a replay.",
        seed="000 §3.6",
        verified=(Method.CASE, Method.MODEL, Method.HISTORY),
        anomalies=("duplicate-delivered",),
    ),
    Clause(
        id="OMB-19",
        level=Level.MUST,
        title="Damaged payload is never delivered",
        statement=(
            "With the CRC flag set a payload that fails its checksum makes the poll return −809 and is never delivered as good. Tail "
            "and expected sequence move past it. poll_batch returns the good records before it, and the error on the next call."
        ),
        why="A flipped bit becomes a price, or one damaged slot stops the consumer and with it the producer for good.",
        seed="000 §3.1, §5.1, §5.4",
        verified=(Method.CASE, Method.FAULT, Method.FUZZ),
        errata=(
            "No checksum covers wal_seq; where that of a damaged record is not the expected one it is not believed: the "
            "expected sequence stays, and the next record shows the gap (ours).",
        ),
        anomalies=("damage-served", "corrupt"),
    ),
    Clause(
        id="OMB-20",
        level=Level.MUST,
        title="Error codes reachable and distinct",
        statement=(
            "The errors −800 to −815 have the meanings of the seed's table, and each can be reached and told apart: −800 "
            "initialization, −801 creation of the shared memory, −802 mapping, −803 opening by a consumer, −804 capacity not a power "
            "of two, −805 bad consumer index, −806 record too large, −807 magic, −808 version, −809 CRC, −810 gap, −811 bind or "
            "listen, −812 connect, −813 send, −814 receive, −815 subscription rejected."
        ),
        why="An operator who gets one code for everything cannot tell a wrong configuration from a damaged region.",
        seed="000 §5.1",
        verified=(Method.CASE, Method.FAULT),
        errata=(
            "The seed has no code for what it does not describe; within its range these are ours: −816 the producer has left "
            "and everything is read, −817 a released consumer's payload without a copy was overwritten, −818 the ring stayed "
            "full for as long as the producer was told to wait, −819 to −822 the WAL cannot be opened, written, read, or is "
            "damaged in the middle.",
            "The seed does not say which code a header of impossible sizes gets; a capacity that is no power of two gets "
            "−804, all others, and a file that has another size than they tell, −802 (ours).",
        ),
    ),
    Clause(
        id="OMB-21",
        level=Level.MUST,
        title="Every endpoint sees everything",
        statement=(
            "Each endpoint sees the whole stream and moves its own tail independently of the others. The number of consumers is fixed "
            "when the stream is created."
        ),
        why="A worker misses records because another one has read them.",
        seed="000 §1, §2, §3.7",
        verified=(Method.CASE, Method.MODEL, Method.HISTORY),
        anomalies=("gap", "contagion"),
    ),
    Clause(
        id="OMB-22",
        level=Level.MUST,
        title="Endpoints map read-only",
        statement="An endpoint maps the header page, and every ring page that no tail shares, read-only.",
        why="A bug in one worker scribbles over the ring and corrupts the stream for every other process.",
        seed="000 §3.4, §5.4",
        verified=(Method.CASE, Method.INSPECTION),
        errata=(
            "By the layout of OMB-04 the tails and the first slots share a page, so that page stays writable to an endpoint; the "
            "certificate says so.",
        ),
    ),
    Clause(
        id="OMB-23",
        level=Level.MUST,
        title="Stale tail is found and released",
        statement=(
            "A monitor finds a consumer that is behind (tail < head) and has made no progress for N seconds, and can release it; an "
            "idle consumer that has read everything is never stale. The producer then unblocks. The released consumer notices, because "
            "it checks slot.seq again after the copy, finds the gap and recovers by replay."
        ),
        why="One hung worker stops the matching engine for ever, or a released one reads overwritten slots as if they were good.",
        seed="000 §6.2, §6.4, §7.3",
        verified=(Method.CASE, Method.MODEL, Method.HISTORY, Method.KILL),
        errata=(
            "The seed lets a released consumer read on; its tail is moved by compare and swap only, so that it learns of the "
            "release when it moves on, and registers again where the ring still holds its place or behind the gap (ours).",
        ),
        anomalies=("stuck-writer", "contagion", "overwritten-view"),
    ),
    Clause(
        id="OMB-24",
        level=Level.MUST,
        title="Killed consumer gets every record",
        statement=(
            "A consumer killed at any instant gets every record again by its persisted cursor (the last one consumed; it resumes at "
            "cursor + 1), WAL replay and attach. It gets each once where it keeps the cursor together with its effect, and at least "
            "once otherwise, as it declares."
        ),
        why="A restarted worker has a hole in its book, or books trades twice without having been told that this can happen.",
        seed="000 §2, §6.2",
        verified=(Method.KILL, Method.HISTORY, Method.MODEL),
        errata=(
            "om_bus_endpoint_open has no cursor; it goes on behind the last sequence its tail in the stream says is consumed, "
            "or at 1, and om_bus_endpoint_open_at takes a cursor of the consumer's own (ours).",
        ),
        anomalies=("lost-write-process", "skipped-on-resume", "double-apply"),
        tolerated=("repeated-on-resume",),
    ),
    Clause(
        id="OMB-25",
        level=Level.MUST,
        title="Killed producer is replaced",
        statement=(
            "After a producer is killed at any instant, a new one recovers the WAL, goes on with the next sequence and recreates the "
            "stream. Consumers notice and replay from their cursors."
        ),
        why="After a failover two different orders carry one sequence, or consumers wait for ever on a ring that nobody writes.",
        seed="000 §6.1, §6.3",
        verified=(Method.KILL, Method.HISTORY, Method.CASE),
        errata=(
            "The seed lets sequences restart at 1 in one place and go on from the WAL in another; sequences never restart.",
            "The seed does not say how a new stream under the old name is told apart; an incarnation number lies in the header padding "
            "at offset 104.",
            "The seed is silent on consumers that still map the old object; the new producer invalidates the old object before it "
            "unlinks it, so that nobody stays on a dead map.",
            "The seed does not say what consumers of a stream get whose producer has left; they read what is left and then "
            "get −816, and whoever opens the object meanwhile gets −807 (ours).",
            "The seed does not say what a second producer of a living one's stream gets; it gets −801, since the first holds "
            "a lock on the object while it lives (ours).",
        ),
        anomalies=("lost-write-process", "inconsistent-position", "stuck-reader"),
    ),
    Clause(
        id="OMB-26",
        level=Level.MUST,
        title="WAL record format and types",
        statement=(
            "A WAL record has an 8-byte header that packs sequence (40 bits), type (8 bits) and length (16 bits), is aligned to 8 "
            "bytes and carries a CRC32 trailer when that is enabled. Files rotate by name pattern and size. Types are INSERT 1, CANCEL "
            "2, MATCH 3, CHECKPOINT 4, DEACTIVATE 5, ACTIVATE 6, and user types from 0x80 on. Payloads have 56 bytes for INSERT (152 "
            "with 32 bytes of user and 64 of aux data), 24 for CANCEL, 40 for MATCH, 24 for DEACTIVATE and 24 for ACTIVATE."
        ),
        why="A replay by another build cannot read the only durable copy of the stream.",
        seed="000 §3.1, §5.5",
        verified=(Method.LAYOUT, Method.CASE),
        errata=(
            "The seed takes the WAL as given and shows only that the sequence is packed in 40 bits; header packing beyond this, "
            "alignment, trailer, rotation and type numbers are ours.",
            "A file begins with a header of 64 bytes (ours), which holds its number, its first sequence, whether records have trailers, "
            "and the offset up to which the file is synced. Without trailers only the structure of a record can be checked.",
            "The seed buffers writes in the process; here records lie in a shared map of a file whose blocks are reserved, so that the "
            "page cache is the buffer: an append survives the death of the process, and needs no system call.",
        ),
    ),
    Clause(
        id="OMB-27",
        level=Level.MUST,
        title="Replay range, torn tail, damage",
        statement=(
            "Replay covers the half-open range [from, to); to = 0 means up to the end. A torn tail ends it cleanly; damage in the "
            "middle is an error, not silence."
        ),
        why="A consumer takes the end at a damaged record for the end of the log and goes on without the rest.",
        seed="000 §5.5",
        verified=(Method.CASE, Method.FAULT, Method.FUZZ, Method.POWER),
        errata=(
            "The seed does not say how a torn tail and damage differ; what is not synced lies in the last file only, whose header tells "
            "how far it is synced. Before that offset, or where another file follows, it is damage; behind it, it is a torn tail unless "
            "valid records follow. Where they do, a page of zeros before them tells of a power loss, and the log ends there (ours).",
            "The seed is silent on ranges outside the WAL; a range that begins before the oldest file, or beyond the end, is an error: a "
            "cursor beyond the recovered end must be reset (ours).",
        ),
        anomalies=("damage-served", "gap"),
    ),
    Clause(
        id="OMB-28",
        level=Level.MUST,
        title="Relay is a separate process",
        statement=(
            "The relay runs as a process of its own: it is one consumer of the shared-memory stream, serves many TCP clients and "
            "leaves the engine's path untouched."
        ),
        why="A network problem or a crash in the relay stops or slows down the matching engine.",
        seed="000 §1, §4.1",
        verified=(Method.CASE, Method.KILL),
        anomalies=("contagion",),
    ),
    Clause(
        id="OMB-29",
        level=Level.MUST,
        title="Subscription joins replay and live",
        statement=(
            "A subscription at or below the head (current_seq is the last published sequence) first gets the replay from the WAL and "
            "then the live records, with neither gap nor duplicate at the seam."
        ),
        why="A remote replica that joins under load lacks exactly the records that were published while it caught up.",
        seed="000 §4.4",
        verified=(Method.CASE, Method.HISTORY),
        anomalies=("seam-gap", "seam-duplicate"),
    ),
    Clause(
        id="OMB-30",
        level=Level.MUST,
        title="When the relay flushes",
        statement="The relay flushes a batch at 256 records, at 1 ms after its first record, and at once on a CHECKPOINT record.",
        why="Records linger in the relay in quiet times, or remote replicas learn late that a checkpoint was reached.",
        seed="000 §4.5",
        verified=(Method.CASE,),
    ),
    Clause(
        id="OMB-31",
        level=Level.MUST,
        title="Slow client is disconnected",
        statement=(
            "A client whose send queue passes the high-water mark is disconnected; other clients are unaffected. It reconnects and "
            "replays from where it was."
        ),
        why="One remote site on a bad line stalls all clients and, through the ring, the engine.",
        seed="000 §6.4",
        verified=(Method.CASE, Method.FAULT, Method.HISTORY),
        errata=("§3.5 lets a TCP backlog block the engine while §6.4 disconnects the slow client; §6.4 prevails.",),
        anomalies=("contagion", "gap"),
    ),
    Clause(
        id="OMB-32",
        level=Level.MUST,
        title="Refusal of unwanted subscriptions",
        statement=(
            "Clients beyond max_clients and unknown stream names are refused by a status other than 0, which the client reports as −815."
        ),
        why="A client with a misspelt stream name waits silently, or too many clients exhaust the relay.",
        seed="000 §4.3, §4.6, §5.1",
        verified=(Method.CASE,),
    ),
    Clause(
        id="OMB-33",
        level=Level.MUST,
        title="Malformed frames close one connection",
        statement=(
            "A frame with a wrong magic, type, length or CRC, or one that is truncated or oversized, closes its connection with an "
            "error; the relay lives on."
        ),
        why="Any port scanner or broken client can take down the relay for everyone.",
        seed="000 §4.2, §4.3",
        verified=(Method.FUZZ, Method.FAULT, Method.CASE),
        anomalies=("unprovoked-death", "damage-served"),
    ),
    Clause(
        id="OMB-34",
        level=Level.MUST,
        title="TCP client calls and reconnect",
        statement=(
            "The client offers connect, poll, poll_batch, request_gap and close, and optionally reconnects by itself, going on from "
            "its last wal_seq."
        ),
        why="Each short network break needs an operator, or leaves a hole in the remote copy.",
        seed="000 §5.6, §6.4",
        verified=(Method.CASE, Method.FAULT, Method.HISTORY),
        anomalies=("gap", "duplicate-delivered"),
    ),
    Clause(
        id="OMB-35",
        level=Level.MUST,
        title="WAL first, then publish",
        statement="The engine hook appends to the WAL first and then publishes the record under the same sequence.",
        why="A consumer has acted upon a record that the WAL does not know, and the restarted engine gives its number to another one.",
        seed="000 §3.3, §8.1",
        verified=(Method.KILL, Method.HISTORY, Method.CASE),
        errata=(
            "The seed publishes after a write to the WAL buffer, which dies with the process; the WAL bytes are with the kernel or in "
            "a shared map before the record is published, so that a killed engine never reuses a sequence somebody has read (ours).",
        ),
        anomalies=("read-then-lost", "inconsistent-position"),
    ),
    Clause(
        id="OMB-36",
        level=Level.SHOULD,
        title="Pointer ring within a process",
        statement=(
            "A pointer ring for one producer and many consumers within a process (OmMarketRing) has the same backpressure; a worker "
            "reads from it or from the bus by a switch."
        ),
        why="Workers in the engine's process pay for copies they do not need, or must be rewritten to move between the two.",
        seed="000 §7.3, §8.2, §8.5",
        verified=(Method.CASE, Method.MODEL),
        anomalies=("silent-drop",),
    ),
    Clause(
        id="OMB-37",
        level=Level.MUST,
        title="C interface and libraries",
        statement=(
            "libombus comes as a shared and as a static library with the four headers om_bus.h, om_bus_tcp.h, om_bus_replay.h and "
            "om_bus_error.h and the signatures of section 5, om_bus_endpoint_wal_seq among them. OmBusRecord has 24 bytes: wal_seq at "
            "0, wal_type at 8, payload_len at 10, the payload pointer at 16. A TCP client's receive buffer has 1 MB by default."
        ),
        why="A program compiled against the published headers does not link, or crashes in a structure of another shape.",
        seed="000 §5, §8.3, §8.4",
        verified=(Method.LAYOUT, Method.CASE, Method.INSPECTION),
    ),
    Clause(
        id="OMB-P1",
        level=Level.PERFORMANCE,
        title="Publish and poll cost",
        statement=(
            "On shared memory a publish takes at most 80 ns and a poll at most 50 ns per record; on the pointer ring at most 30 ns and "
            "25 ns."
        ),
        why="Distribution eats into the engine's own latency budget with every record.",
        seed="000 §3.3, §3.4, §7.1, §7.3",
        verified=(Method.BENCHMARK,),
        anomalies=("gate",),
    ),
    Clause(
        id="OMB-P2",
        level=Level.PERFORMANCE,
        title="Throughput across processes",
        statement="More than 5 million records per second pass from one process to another on shared memory.",
        why="In a burst the ring fills and the engine waits for its consumers.",
        seed="000 §7.1",
        verified=(Method.BENCHMARK,),
        anomalies=("gate",),
    ),
    Clause(
        id="OMB-P3",
        level=Level.PERFORMANCE,
        title="TCP throughput and added latency",
        statement="The batched TCP path carries 0.5 to 1 million records per second or more and adds 10 to 50 µs of latency.",
        why="Remote replicas fall behind in normal trading and are useless when they are needed.",
        seed="000 §1, §7.1",
        verified=(Method.BENCHMARK,),
        errata=("The seed gives ranges; the gate is at the slow end: at least 0.5 million records per second, at most 50 µs added.",),
        anomalies=("gate",),
    ),
)
