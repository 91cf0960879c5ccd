"""The LOG clauses: what any durable log or bus is examined for, whatever its format.

They are decided from recorded history alone. A clause whose `needs` the target does not promise is not applicable.
"""

from fireassay.spec.clause import Clause, Level, Method

__all__ = ["CLAUSES"]

CLAUSES: tuple[Clause, ...] = (
    Clause(
        id="LOG-01",
        level=Level.MUST,
        title="Order of appends is kept",
        statement=(
            "Of one producer, record a is read before record b whenever the ok of a's append came before the invoke of b's append. "
            "Where total order is promised the same holds across producers. All readers of a stream agree on one order."
        ),
        why=(
            "A cancel that is read before its order, or two replicas that read different orders, leave the systems behind the log in "
            "states that no longer match."
        ),
        seed="contract",
        verified=(Method.HISTORY, Method.MODEL),
        anomalies=("reorder", "reader-disagreement"),
    ),
    Clause(
        id="LOG-02",
        level=Level.MUST,
        title="No gap inside a chain",
        statement=(
            "Between the granted start of a chain and its last delivery nothing that is expected of the chain is missing, unless the "
            "target itself reported exactly that range with a declared cause. A chain is one independent reader's deliveries in order, "
            "or a group's deliveries for one shard between assign and revoke; expected are the records owed at every crash since, or "
            "acknowledged with no crash since, at or after the granted start and the first retained position."
        ),
        why="A consumer that silently misses one fill carries a wrong position for the rest of the day and nothing tells it so.",
        seed="contract",
        verified=(Method.HISTORY,),
        anomalies=("gap", "silent-late-start"),
    ),
    Clause(
        id="LOG-03",
        level=Level.MUST,
        title="Stored once and delivered once",
        statement=(
            "One append is stored at most once, also when its completion is unknown, and a chain delivers each record once. In a "
            "competing group each record goes to one member, unless a declared redelivery happened."
        ),
        why="A payment that was appended once and comes out twice is paid twice.",
        seed="contract",
        verified=(Method.HISTORY, Method.MODEL),
        anomalies=("duplicate-stored", "duplicate-delivered"),
    ),
    Clause(
        id="LOG-04",
        level=Level.MUST,
        title="Only appended records are read",
        statement=(
            "Every record read carries an identity that was handed to an append of this run; nothing from an earlier run, from free "
            "space or from nowhere is served."
        ),
        why="Stale bytes of a recycled file that look like a record become an order nobody has sent.",
        seed="contract",
        verified=(Method.HISTORY, Method.FUZZ),
        anomalies=("phantom",),
    ),
    Clause(
        id="LOG-05",
        level=Level.MUST,
        title="Payload read equals payload appended",
        statement=(
            "The bytes and the length that are read equal those appended, compared whole. A zero-copy view keeps these bytes until the "
            "reader releases it."
        ),
        why=(
            "A producer that laps a reader in the middle of a view hands it the first half of one message and the second half of another."
        ),
        seed="contract",
        verified=(Method.HISTORY, Method.FUZZ),
        anomalies=("corrupt", "overwritten-view"),
    ),
    Clause(
        id="LOG-06",
        level=Level.MUST,
        title="Failed appends are never read",
        statement=(
            "A record whose append completed as fail, which means it certainly took no effect, is never delivered to any reader, "
            "neither at once nor after a restart."
        ),
        why="A caller who was told no sends again or takes another way, and the effect happens twice.",
        seed="contract",
        verified=(Method.HISTORY, Method.FAULT),
        anomalies=("aborted-read",),
    ),
    Clause(
        id="LOG-07",
        level=Level.MUST,
        title="One record per position, for good",
        statement=(
            "A position, taken as the pair of recovery epoch and position, holds one record for every reader at every time. A record "
            "that was read while visibility was durable never vanishes afterwards."
        ),
        why=(
            "A consumer has acted on a record that the log, after a restart, denies it ever held, so its state can never be rebuilt "
            "from the log."
        ),
        seed="contract",
        verified=(Method.HISTORY, Method.KILL, Method.POWER),
        anomalies=("inconsistent-position", "read-then-lost"),
    ),
    Clause(
        id="LOG-08",
        level=Level.MUST,
        title="Positions only ever grow",
        statement=(
            "The positions returned to one producer grow from append to append, and the positions delivered in a chain grow within a "
            "batch, across batches and across incarnations. Where positions are promised dense no number is left out. After a recovery "
            "that cut a tail, numbers may be used again under a new epoch only."
        ),
        why="A consumer that stores the highest position it has seen skips or repeats records as soon as one position goes back.",
        seed="contract",
        verified=(Method.HISTORY, Method.MODEL),
        needs=("positions",),
        anomalies=("nonmonotonic-append", "nonmonotonic-read", "skip"),
    ),
    Clause(
        id="LOG-09",
        level=Level.MUST,
        title="Everything expected arrives after healing",
        statement=(
            "Once faults have healed, everything expected of a chain reaches every reader within the deadline of the drain, which ends "
            "after the sentinel of the stream and END seen twice."
        ),
        why="A reader that lost its wake-up sits behind for ever while every dashboard shows a healthy log.",
        seed="contract",
        verified=(Method.HISTORY, Method.FAULT),
        anomalies=("unseen",),
    ),
    Clause(
        id="LOG-10",
        level=Level.MUST,
        title="Process death loses nothing owed",
        statement=(
            "Every record whose promise for process death was fulfilled before the crash began, by its own append's ok or by the ok of "
            "a sync that was invoked after that ok and whose scope covers it, is delivered after recovery."
        ),
        why="An acknowledged order disappears because the process that took it was killed by an operator or the OOM killer.",
        seed="contract",
        verified=(Method.KILL, Method.HISTORY),
        needs=("survives-process-death",),
        anomalies=("lost-write-process",),
    ),
    Clause(
        id="LOG-11",
        level=Level.MUST,
        title="Power loss loses nothing owed",
        statement=(
            "Every record whose promise for power loss was fulfilled before the power failed is delivered after recovery. A sync that "
            "is ok after a failed sync covers nothing older than the failure, unless it was written again."
        ),
        why=(
            "A log that forgets the directory entry or believes a second fsync after a failed one loses data its callers had confirmed "
            "to others."
        ),
        seed="contract",
        verified=(Method.POWER, Method.HISTORY),
        needs=("survives-power-loss",),
        anomalies=("lost-write-power",),
    ),
    Clause(
        id="LOG-12",
        level=Level.MUST,
        title="Torn pages are never served",
        statement=(
            "A page or sector that reached the disk only in part is repaired, or reported as far as damage detection is promised; its "
            "content is never delivered as a good record and owed records beside it are not lost."
        ),
        why="Half a page of new bytes over half a page of old ones parses as a valid record with a wrong price.",
        seed="contract",
        verified=(Method.POWER, Method.FAULT, Method.HISTORY),
        needs=("damage-detection",),
        anomalies=("lost-write-torn", "corrupt"),
    ),
    Clause(
        id="LOG-13",
        level=Level.MUST,
        title="Survivors beyond the owed are prefix",
        statement=(
            "What survives a crash beyond the owed records is a prefix in log order, without holes. Where the policy permits a lost "
            "tail, the loss stays within N records, or within M ms plus the measured stall. The loss is printed."
        ),
        why="A log that keeps a later record and drops an earlier one delivers an execution without the order it belongs to.",
        seed="contract",
        verified=(Method.KILL, Method.POWER, Method.HISTORY),
        anomalies=("lost-tail", "hole"),
    ),
    Clause(
        id="LOG-14",
        level=Level.MUST,
        title="Lost records stay lost",
        statement=(
            "A record that a complete drain after recovery lacked, while every process that held it was dead, is never delivered later."
        ),
        why="The sender saw that its message was gone and sent it again; when the first copy comes back, both are executed.",
        seed="contract",
        verified=(Method.KILL, Method.POWER, Method.HISTORY),
        anomalies=("resurrection",),
    ),
    Clause(
        id="LOG-15",
        level=Level.MUST,
        title="Nothing is read before its sync",
        statement=(
            "Where visibility is promised at sync, no record is read before the invoke of the earliest sync that covers it. Implicit "
            "syncs are recorded or switched off; otherwise the verdict is unknown."
        ),
        why="A consumer acts on data that the next power cut removes, and the outside world knows more than the log.",
        seed="contract",
        verified=(Method.HISTORY,),
        needs=("visible-at-sync",),
        anomalies=("precommitted-read",),
    ),
    Clause(
        id="LOG-16",
        level=Level.MUST,
        title="Readers resume at their last commit",
        statement=(
            "A restarted reader resumes at its last durable commit or at a later commit whose completion is unknown: nothing before "
            "that point comes again and nothing after it is skipped. A cursor beyond the recovered end is reset, with a report."
        ),
        why="A worker that comes back one record too far never handles that record, and nobody else will.",
        seed="contract",
        verified=(Method.KILL, Method.POWER, Method.HISTORY),
        needs=("durable-cursors",),
        anomalies=("skipped-on-resume", "repeated-on-resume"),
    ),
    Clause(
        id="LOG-17",
        level=Level.MUST,
        title="Pressure blocks or refuses, as declared",
        statement=(
            "When consumers, buffers or capacity cannot keep up the target does what it declared, blocks or refuses, and nothing it has "
            "acknowledged is dropped."
        ),
        why="A burst at market open is thinned out silently, exactly when each message matters most.",
        seed="contract",
        verified=(Method.HISTORY, Method.FAULT),
        needs=("pressure-declared",),
        anomalies=("silent-drop",),
    ),
    Clause(
        id="LOG-18",
        level=Level.MUST,
        title="Replay joins live without a seam",
        statement="Where a chain passes from replay to live while the writer goes on, the join has neither gap nor duplicate.",
        why="A late joiner misses or doubles the few records written during its switch, a defect that shows only under load.",
        seed="contract",
        verified=(Method.HISTORY,),
        anomalies=("seam-gap", "seam-duplicate"),
    ),
    Clause(
        id="LOG-19",
        level=Level.MUST,
        title="Retention removes exactly the unneeded",
        statement=(
            "Retention removes nothing that a protected reader still needs, by the declared class (all, live or none) and the declared "
            "lag L past which a reader may be dropped; and it does remove what nobody needs."
        ),
        why="Either a slow reader loses its data or a forgotten one fills the disk until the log stops for everyone.",
        seed="contract",
        verified=(Method.HISTORY,),
        needs=("retention",),
        anomalies=("retention-loss", "retention-stuck"),
    ),
    Clause(
        id="LOG-20",
        level=Level.MUST,
        title="Recovery is bounded and idempotent",
        statement=(
            "Recovery ends within its declared time. A second crash inside recovery leaves the owed records identical to what a single "
            "recovery would have left."
        ),
        why="A host that reboots twice, as hosts do after a power cut, destroys what the first recovery had saved.",
        seed="contract",
        verified=(Method.KILL, Method.POWER, Method.HISTORY),
        needs=("bounded-recovery",),
        anomalies=("slow-recovery", "recovery-not-idempotent"),
    ),
    Clause(
        id="LOG-21",
        level=Level.MUST,
        title="Never two writers at once",
        statement=(
            "No append by one writer is ok after a second writer's open was ok, also when the first was merely frozen and wakes up "
            "later. A writer that is dead is replaced."
        ),
        why="A paused virtual machine wakes, writes over its successor's records and both report success.",
        seed="contract",
        verified=(Method.HISTORY, Method.KILL, Method.FAULT),
        needs=("one-writer",),
        anomalies=("split-writer",),
    ),
    Clause(
        id="LOG-22",
        level=Level.MUST,
        title="Dead readers harm nobody else",
        statement=(
            "The death of a reader causes no violation and no stuck operation in any other actor beyond the declared release time of a "
            "dead reader."
        ),
        why="One crashed analytics job stops the order path because the ring still waits for its tail.",
        seed="contract",
        verified=(Method.KILL, Method.HISTORY),
        anomalies=("contagion",),
    ),
    Clause(
        id="LOG-23",
        level=Level.MUST,
        title="Every operation ends",
        statement="Once faults are healed every operation ends within its deadline, and no process dies unless the harness killed it.",
        why="A futex that is never woken or a SIGBUS in the library takes the whole application down although the fault is long over.",
        seed="contract",
        verified=(Method.HISTORY, Method.FAULT),
        anomalies=("stuck-writer", "stuck-reader", "unprovoked-death"),
    ),
    Clause(
        id="LOG-24",
        level=Level.MUST,
        title="END is never stale",
        statement=(
            "A read never returns END at or before a position that had become visible earlier than the invoke of the call minus the "
            "declared staleness bound minus the clock error of the recording."
        ),
        why=(
            "A service that asks for the newest state is told there is nothing new while the record lies there, and decides on old prices."
        ),
        seed="contract",
        verified=(Method.HISTORY,),
        needs=("bounded-staleness",),
        anomalies=("stale-read",),
    ),
    Clause(
        id="LOG-25",
        level=Level.MUST,
        title="Applied state equals the fold",
        statement=(
            "A stream that is applied leaves the state that the declared fold gives over the order of the drain, also after crashes "
            "between the effect and the cursor."
        ),
        why="After a restart a balance includes one transfer twice, and replicas that read the same log disagree.",
        seed="contract",
        verified=(Method.HISTORY, Method.KILL),
        anomalies=("double-apply", "state-divergence"),
    ),
    Clause(
        id="LOG-26",
        level=Level.MUST,
        title="I/O errors surface or are retried",
        statement=(
            "A full disk and an I/O error reach the caller or are truly retried. Records written earlier stay whole, work goes on when "
            "space returns, and the process gets no SIGBUS. A swallowed error is convicted by its consequence."
        ),
        why="A write that failed in the background is reported as stored, and the loss is found only when the data is needed.",
        seed="contract",
        verified=(Method.FAULT, Method.HISTORY),
        anomalies=("error-swallowed", "damage-after-error"),
    ),
    Clause(
        id="LOG-27",
        level=Level.MUST,
        title="Damaged files are never served",
        statement=(
            "Files damaged at rest are reported or repaired as far as damage detection is promised; damaged content is never delivered "
            "as good."
        ),
        why="One flipped bit on an ageing disk turns a quantity of 1 into 129 and the log vouches for it.",
        seed="contract",
        verified=(Method.FAULT, Method.HISTORY, Method.FUZZ),
        needs=("damage-detection",),
        anomalies=("damage-served",),
    ),
    Clause(
        id="LOG-28",
        level=Level.MUST,
        title="Payload limits hold as declared",
        statement=(
            "An empty payload, the largest permitted one and one that is too large behave as declared. A refused payload leaves no "
            "trace: it is never read, and the appends around it are unaffected."
        ),
        why="One oversized message wedges the stream, or is cut off silently, and the consumer decodes a stump.",
        seed="contract",
        verified=(Method.CASE, Method.HISTORY),
        needs=("max-payload",),
        anomalies=("limit-violated",),
    ),
    Clause(
        id="LOG-29",
        level=Level.MUST,
        title="Streams and groups do not leak",
        statement=(
            "A record appended to one stream, topic or shard is delivered in that one only, and the cursors, assignments and "
            "acknowledgements of one group do not change those of another."
        ),
        why="One client's orders show up in another client's feed, or one team's acknowledgement hides records from another team.",
        seed="contract",
        verified=(Method.HISTORY,),
        anomalies=("cross-stream", "cross-group"),
    ),
    Clause(
        id="LOG-30",
        level=Level.MUST,
        title="Ids and timestamps stay ordered",
        statement=(
            "Ids and timestamps that the target gives are ordered as promised along the log, also across a restart and across forward "
            "and backward steps of the clock."
        ),
        why="After a clock correction new events sort before old ones, and every query by time or id skips or repeats some.",
        seed="contract",
        verified=(Method.HISTORY, Method.FAULT),
        needs=("ordered-ids-or-timestamps",),
        anomalies=("id-order",),
    ),
    Clause(
        id="LOG-31",
        level=Level.MUST,
        title="Seek lands on the first match",
        statement="A seek by position, time or id, as far as it is promised, grants the first record that qualifies.",
        why="A replay that starts one record late rebuilds a book without the level that record has set.",
        seed="contract",
        verified=(Method.HISTORY, Method.MODEL),
        needs=("seekable",),
        anomalies=("wrong-seek",),
    ),
    Clause(
        id="LOG-32",
        level=Level.MUST,
        title="Reopening keeps the old content",
        statement=(
            "After close and reopen the old content is a prefix of the new. What was added consists only of appends that were ok or "
            "whose completion is unknown."
        ),
        why="A log that re-sorts, drops or invents records on an ordinary restart cannot be trusted after an extraordinary one.",
        seed="contract",
        verified=(Method.HISTORY, Method.CASE),
        anomalies=("reopen-divergence",),
    ),
    Clause(
        id="LOG-P1",
        level=Level.PERFORMANCE,
        title="Latency stays within the gate",
        statement=(
            "Latency, counted from the intended time of each operation at the declared rate, stays within the gate; quiet phases and "
            "phases under fault are gated apart."
        ),
        why=(
            "A mean taken from the moment the call began hides that a stall delayed every later message too, so the user meets "
            "latencies the report denies."
        ),
        seed="contract",
        verified=(Method.BENCHMARK, Method.HISTORY),
        anomalies=("gate",),
    ),
)
