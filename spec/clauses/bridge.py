"""BRG: the sequenced bidirectional bridge (seed 001) — live UDP path, archive, replay-merge, checkpoint.

Integers are little-endian, except the two leading magics, whose ASCII bytes stand in reading order.
"""

from fireassay.spec.clause import Clause, Level, Method

__all__ = ["CLAUSES"]

CLAUSES: tuple[Clause, ...] = (
    Clause(
        id="BRG-01",
        level=Level.MUST,
        title="Message header on the wire",
        statement=(
            'A message starts with a header of 28 bytes: the magic "BRDG" at 0, version 1 (one byte) at 4, direction (one byte; 0 = '
            "ME to RMS, 1 = RMS to ME) at 5, two reserved bytes at 6, sequence (8 bytes) at 8, timestampNs (8 bytes) at 16, "
            "payloadLength (4 bytes) at 24; the payload follows at 28."
        ),
        why="Two builds of the bridge reject each other's messages or read sequences from the wrong bytes.",
        seed="001 Binary Message Format",
        verified=(Method.LAYOUT, Method.CASE),
        errata=(
            "The byte diagram shows 42 52 44 47 while the text calls all multi-byte fields little-endian; those four ASCII bytes lead, "
            "every other multi-byte field is little-endian.",
        ),
    ),
    Clause(
        id="BRG-02",
        level=Level.MUST,
        title="Checkpoint file layout",
        statement=(
            'A checkpoint file has 24 bytes: the magic "CKPT" at 0, direction (4 bytes) at 4, lastAppliedSequence (8 bytes) at 8, '
            "archivePosition (8 bytes) at 16."
        ),
        why="After an upgrade the receiver cannot read its own position and replays everything, or starts at a wrong one.",
        seed="001 Checkpointing",
        verified=(Method.LAYOUT, Method.CASE),
        errata=(
            "Byte diagram and text contradict each other as in BRG-01; the bytes 43 4B 50 54 lead, every other field is little-endian.",
        ),
    ),
    Clause(
        id="BRG-03",
        level=Level.MUST,
        title="Invalid frames are skipped, counted",
        statement=(
            "A frame that is not valid in magic, version or length, or that belongs to the other direction, is skipped and counted and "
            "never applied."
        ),
        why="A stray datagram or a misconfigured port feeds foreign bytes to the risk engine as if they were orders.",
        seed="001 Fragment Handler Processing Pipeline (LLD)",
        verified=(Method.FUZZ, Method.CASE),
        anomalies=("phantom", "damage-served"),
    ),
    Clause(
        id="BRG-04",
        level=Level.MUST,
        title="Sequences per direction, without holes",
        statement=(
            "Each direction numbers its messages from 1 in steps of 1, and a number is taken only when the offer succeeded. A "
            "restarted sender goes on at the last recorded sequence + 1, extends the same recording and tells the source that number."
        ),
        why="After a restart of the sender the receiver drops new messages as duplicates, or reports gaps that are none.",
        seed="001 Deterministic Processing Rules",
        verified=(Method.CASE, Method.MODEL, Method.KILL, Method.HISTORY),
        anomalies=("inconsistent-position", "nonmonotonic-append", "gap"),
    ),
    Clause(
        id="BRG-05",
        level=Level.MUST,
        title="Back pressure is told, never hidden",
        statement=(
            "Under back pressure the sender yields and retries up to a limit (3 by default), then returns −1; no sequence is consumed "
            "and nothing is dropped silently. Not connected, closed, a payload above 1,024 bytes (configurable) and a full archive "
            "disk give −1 with the reason."
        ),
        why="The caller takes an order as sent that never left, or a refused one leaves a hole in the sequence.",
        seed="001 Backpressure & Overload Policy",
        verified=(Method.CASE, Method.FAULT, Method.MODEL),
        anomalies=("silent-drop", "error-swallowed", "limit-violated"),
    ),
    Clause(
        id="BRG-06",
        level=Level.MUST,
        title="States of the receiver",
        statement=(
            "The receiver goes from UNINITIALIZED to LIVE_ONLY or to REPLAY_MERGE, whose inner states are RESOLVE_REPLAY_PORT, "
            "GET_RECORDING_POSITION, REPLAY, CATCHUP and ATTEMPT_LIVE_JOIN, from there to MERGED or FAILED, and finally to CLOSED. "
            "Close is legal anywhere; an illegal transition raises."
        ),
        why="A receiver polled or restarted at the wrong moment hangs half-way, neither live nor failed, and nobody sees it.",
        seed="001 BridgeReceiver State Machine",
        verified=(Method.MODEL, Method.CASE, Method.FAULT),
        errata=(
            "The seed has no way back after a partition; MERGED and LIVE_ONLY fall back to REPLAY_MERGE then (ours).",
            "The diagram shows close only from LIVE_ONLY, MERGED and FAILED and says nothing of illegal calls; close is legal in every "
            "state and an illegal transition raises (ours).",
        ),
    ),
    Clause(
        id="BRG-07",
        level=Level.MUST,
        title="Join of replay and live",
        statement="The join of replay and live while the sender goes on has no gap and no duplicate and keeps the order.",
        why="A receiver restarted in trading hours misses or doubles exactly the messages sent while it was catching up.",
        seed="001 Replay / Catch-Up Design",
        verified=(Method.CASE, Method.HISTORY),
        anomalies=("seam-gap", "seam-duplicate", "reorder"),
    ),
    Clause(
        id="BRG-08",
        level=Level.MUST,
        title="Duplicates, next message, gaps",
        statement=(
            "A sequence at or below the last applied one is skipped; the last + 1 is applied; a higher one is a gap, which is counted "
            "and warned about."
        ),
        why="A lost risk check goes unnoticed, although the archive still holds it.",
        seed="001 Avoiding Duplicates on Replay to Live Join",
        verified=(Method.CASE, Method.MODEL, Method.HISTORY, Method.FAULT),
        errata=(
            "One passage applies past a gap at once, another recovers loss from the archive; repair comes first (retransmission or "
            "archive), a message past a gap is applied only when repair is impossible, and that is reported.",
        ),
        anomalies=("gap", "double-apply", "skip"),
    ),
    Clause(
        id="BRG-09",
        level=Level.MUST,
        title="Checkpoint after every applied message",
        statement=(
            "The checkpoint is saved after each applied message (batching is configurable), by a temporary file and an atomic rename. "
            "A missing one means sequence 0 and position 0."
        ),
        why="A crash during the save leaves half a checkpoint, and the receiver loses its position.",
        seed="001 Checkpointing",
        verified=(Method.CASE, Method.KILL, Method.POWER),
    ),
    Clause(
        id="BRG-10",
        level=Level.MUST,
        title="Damaged checkpoint starts a replay",
        statement=(
            "A checkpoint damaged in magic, size or direction counts as sequence 0 and position 0 and leads to a replay from the "
            "oldest retained position."
        ),
        why="A single damaged file of 24 bytes makes the risk engine apply a whole day twice.",
        seed="001 Data Loss Scenarios",
        verified=(Method.FAULT, Method.FUZZ, Method.KILL, Method.HISTORY),
        errata=(
            "The seed claims that idempotency still holds, but a receiver reset to 0 applies everything again; the handler's own "
            "durable state carries its last sequence and is the authority, whether the checkpoint is behind or ahead of it.",
            "The seed does not say what happens when the oldest messages are purged; there is no false gap when the handler is past "
            "the oldest retained message, and the receiver ends in FAILED when it is not.",
        ),
        anomalies=("double-apply", "state-divergence", "gap"),
    ),
    Clause(
        id="BRG-11",
        level=Level.MUST,
        title="Crash leaves the same state",
        statement=(
            "After a kill at any instant, also between apply and checkpoint, the state after recovery equals that of a run without the "
            "crash."
        ),
        why="Positions after a restart differ from those the exchange has, and nobody can say which are right.",
        seed="001 Crash Recovery Flow (Data Layer to Application Layer)",
        verified=(Method.KILL, Method.HISTORY),
        anomalies=("double-apply", "state-divergence", "lost-write-process"),
    ),
    Clause(
        id="BRG-12",
        level=Level.MUST,
        title="Total order in each direction",
        statement=(
            "Messages of one direction are applied in one total order, the sender's; the two directions are independent of each other."
        ),
        why="A cancel overtakes its order, or trouble in one direction stops the other.",
        seed="001 Consistency Model",
        verified=(Method.HISTORY, Method.MODEL, Method.CASE),
        anomalies=("reorder", "cross-stream"),
    ),
    Clause(
        id="BRG-13",
        level=Level.MUST,
        title="Replayed bytes equal live bytes",
        statement="The bytes of a replayed message equal those that were sent live.",
        why="An audit by replay computes another result than the day itself.",
        seed="001 Determinism",
        verified=(Method.CASE, Method.HISTORY),
        anomalies=("corrupt", "inconsistent-position"),
    ),
    Clause(
        id="BRG-14",
        level=Level.MUST,
        title="Archive at the source",
        statement=(
            "The archive records at the source, in segment files. Recordings are listed by channel and stream. Replay starts at any "
            "frame boundary; a position that is purged or beyond the end is reported. Purging goes by segment. A full disk is "
            "reported."
        ),
        why="A message that was delivered but not recorded cannot be replayed, and catch-up fails when it is needed.",
        seed="001 Stream & Channel Layout",
        verified=(Method.CASE, Method.KILL, Method.FAULT, Method.HISTORY),
        errata=(
            "The seed leaves the order of recording and sending open; the message is recorded before it is sent, else a crash can "
            "reuse a sequence that was delivered (ours).",
        ),
        anomalies=("read-then-lost", "wrong-seek", "error-swallowed", "damage-after-error"),
    ),
    Clause(
        id="BRG-15",
        level=Level.MUST,
        title="Lossy network is repaired",
        statement="Loss, duplication and reordering on the UDP path are repaired: delivery stays in order, without gaps, and once.",
        why="Ordinary packet loss on a busy switch becomes lost or doubled orders.",
        seed="001 Why Aeron Fits",
        verified=(Method.FAULT, Method.HISTORY, Method.CASE),
        anomalies=("gap", "duplicate-delivered", "reorder"),
    ),
    Clause(
        id="BRG-16",
        level=Level.MUST,
        title="Partition is caught up afterwards",
        statement="During a partition the source goes on recording; the receiver catches up afterwards.",
        why="A minute's network outage needs a manual resynchronization of both clusters.",
        seed="001 Data Loss Scenarios",
        verified=(Method.FAULT, Method.HISTORY),
        anomalies=("unseen", "gap", "stuck-reader"),
    ),
    Clause(
        id="BRG-17",
        level=Level.MUST,
        title="Bounded work per poll",
        statement="One poll handles at most 10 fragments; the limit is configurable.",
        why="In a burst a single poll keeps the thread for so long that its other duties, such as the opposite direction, starve.",
        seed="001 Receiver Overload",
        verified=(Method.CASE,),
    ),
    Clause(
        id="BRG-18",
        level=Level.MUST,
        title="Configuration, URIs, defaults, file names",
        statement=(
            "Channels, stream ids, checkpoint directory and limits come from configuration under the aeron.bridge.* names. The URIs "
            "`aeron:udp?endpoint=host:port`, the same with `host:0`, and `aeron:udp?control-mode=manual` are parsed. Defaults are port "
            "20121 with stream 1001 for ME to RMS, and port 20122 with stream 1002 for RMS to ME. The checkpoint files are "
            "bridge-checkpoint-me-to-rms.bin and bridge-checkpoint-rms-to-me.bin."
        ),
        why="A deployment must be recompiled for another host, or both directions overwrite one checkpoint.",
        seed="001 Stream & Channel Layout, 001 File Locations",
        verified=(Method.CASE, Method.FUZZ),
    ),
    Clause(
        id="BRG-19",
        level=Level.SHOULD,
        title="Shards by configuration",
        statement="Shards are set up by configuration, each with its own channel, stream and checkpoint.",
        why="Growing beyond one stream needs new code, or the shards mix up their positions.",
        seed="001 Multi-Shard Extension (Future)",
        verified=(Method.CASE,),
        anomalies=("cross-stream",),
    ),
    Clause(
        id="BRG-20",
        level=Level.MUST,
        title="Entry point with three modes",
        statement="There is one entry point with the modes sender, receiver and bridge.",
        why="An operator cannot run the two ends on two machines, or both on one for a trial.",
        seed="001 Class Inventory",
        verified=(Method.CASE,),
    ),
    Clause(
        id="BRG-21",
        level=Level.SHOULD,
        title="Health and metrics",
        statement="Health and metrics show the messages published and received, duplicates, gaps, invalid frames, the state and the lag.",
        why="A receiver that falls behind or drops invalid frames is noticed only when the positions disagree.",
        seed="001 Where Aeron Does Not Fit (Operational Complexity)",
        verified=(Method.CASE,),
    ),
    Clause(
        id="BRG-22",
        level=Level.SHOULD,
        title="Sequential handler proves determinism",
        statement=(
            "A sequential risk handler shows by a hash of its state that processing is deterministic; an asynchronous one shows why it "
            "is not."
        ),
        why="A team chooses asynchronous risk checks without seeing that a replay no longer reproduces the day.",
        seed="001 RMS Event Processing: Sequential vs. Asynchronous",
        verified=(Method.CASE, Method.HISTORY),
        anomalies=("state-divergence",),
    ),
    Clause(
        id="BRG-23",
        level=Level.SHOULD,
        title="Tuning parameters are swept",
        statement=(
            "Term buffer length, fragment limit, idle strategy, threading mode and checkpoint frequency are configurable, and a "
            "benchmark sweeps them."
        ),
        why="Users tune by guesswork and learn in production what a setting costs.",
        seed="001 Configuration Experiments",
        verified=(Method.CASE, Method.BENCHMARK),
    ),
    Clause(
        id="BRG-P1",
        level=Level.PERFORMANCE,
        title="Latency of the live path",
        statement="On one host the live path has a median below 10 µs and a 99th percentile below 50 µs.",
        why="Each risk check delays its order by more than the exchange can allow.",
        seed="001 Latency Benchmarks",
        verified=(Method.BENCHMARK,),
        anomalies=("gate",),
    ),
    Clause(
        id="BRG-P2",
        level=Level.PERFORMANCE,
        title="Rate of replay catch-up",
        statement="Catching up by replay handles more than 1 million messages per second.",
        why="A receiver that was down for an hour stays behind for hours, or never gets merged while the sender goes on.",
        seed="001 Latency Benchmarks",
        verified=(Method.BENCHMARK,),
        anomalies=("gate",),
    ),
    Clause(
        id="BRG-P3",
        level=Level.PERFORMANCE,
        title="Throughput by payload size",
        statement=(
            "The bridge carries 3 to 6 million messages per second of 64 bytes, 1 to 3 million of 256 bytes, 0.5 to 1 million of 1024 "
            "bytes, and 100 to 500 thousand with a checkpoint per message."
        ),
        why="The sender meets back pressure in ordinary bursts and orders wait.",
        seed="001 Throughput Benchmarks",
        verified=(Method.BENCHMARK,),
        errata=(
            "The seed gives ranges; the gates are at the slow ends: 3 million, 1 million, 0.5 million and 100 thousand messages per "
            "second.",
        ),
        anomalies=("gate",),
    ),
    Clause(
        id="BRG-P4",
        level=Level.PERFORMANCE,
        title="Cost of a checkpoint save",
        statement=(
            "Saving a checkpoint takes less than 5 µs without fsync, and with fsync at most 1.2 times the fsync floor measured in the "
            "same run."
        ),
        why="The save after each message dominates the time of applying it and halves the rate.",
        seed="001 Latency Benchmarks",
        verified=(Method.BENCHMARK,),
        errata=(
            "The seed says 3 to 5 µs with fsync, yet fsync costs what the disk takes; 5 µs holds without fsync, and with it the gate "
            "is the ratio to the disk's own floor.",
        ),
        anomalies=("gate",),
    ),
)
