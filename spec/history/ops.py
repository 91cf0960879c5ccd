"""Operations, phases and flags of history rows. The numbers are the format: never reuse one.

Meaning of seq / key / value per operation stands beside each; '-' means zero.
"""

from enum import IntEnum, IntFlag

__all__ = ["FaultKind", "Flag", "Op", "Phase"]


class Op(IntEnum):
    APPEND = 1  # position | identity | length
    READ = 2  # position | identity | length; with END: next position | - | records in the call
    APPEND_RUN = 3  # first position | first identity | count
    READ_RUN = 4  # first position | first identity | count
    ATTR = 5  # id high | id low | target's timestamp; follows its append or read
    RELEASE = 6  # position | identity | -; digest taken again
    SYNC = 7  # durable-to if known | scope | -
    COMMIT = 8  # cursor | group | -
    ACK = 9  # cursor | group | -
    SEEK = 10  # granted position | mode | request
    LOOKUP = 11  # granted position | mode | request
    OPEN_WRITER = 12  # granted start or end | mode, group | epoch
    OPEN_READER = 13  # granted start | mode, group | epoch
    CLOSE = 14  # granted end | mode, group | epoch
    ASSIGN = 15  # shard | group | generation
    REVOKE = 16  # shard | group | generation
    REPORT = 17  # from | cause | to (half-open): the target's own word on gap, damage, reset, drop
    TRIM = 18  # first retained | reader or group | -
    APPLY = 19  # last sequence | identity | state hash
    STATE = 20  # last sequence | identity | state hash
    JOIN = 21  # first live position | - | -
    SPAWN = 22  # pid | incarnation | -
    EXIT = 23  # pid | incarnation | signal (negative) or code
    FAULT_BEGIN = 24  # fault id | victim actor; 0 where more than one process is hit (power, disk) | parameter; digest: FaultKind
    FAULT_FIRED = 25  # fault id | victim actor | hits; digest: FaultKind
    FAULT_END = 26  # fault id | victim actor | -; digest: FaultKind
    RECOVERY_BEGIN = 27  # - | crash ordinal | -
    RECOVERY_END = 28  # recovered end | crash ordinal | bytes
    DRAIN_BEGIN = 29  # position | - | crash ordinal
    SENTINEL = 30  # position | sentinel identity | crash ordinal; the drain met it: its actor records it, before DRAIN_END
    DRAIN_END = 31  # position | - | crash ordinal; as FAIL or INFO: given up
    HEAL = 32
    QUIESCE = 33
    PHASE = 34  # phase number | - | -
    RUN_END = 35
    HEARTBEAT = 36  # - | - | elapsed since the last: vouches that the harness ran in that time
    WATCHDOG = 37  # pending call | victim actor | elapsed


class Phase(IntEnum):
    """Stored last, with release: 0 means that the row was never finished and ends the recording."""

    UNWRITTEN = 0
    INVOKE = 1
    OK = 2
    FAIL = 3
    INFO = 4
    EVENT = 5  # something that happened rather than a call: spawn, fault, report


class FaultKind(IntEnum):
    """`digest` of a fault row: what the fault does when it fires."""

    PROCESS = 0  # ends the victim's process; with no actor as victim nobody knows what it ended
    POWER = 1  # ends all processes and takes what was not yet durable
    OTHER = 2  # disk, network, delay: no crash by itself, only where a process exits of it


class Flag(IntFlag):
    END = 1
    LAST_IN_BATCH = 2
    REPLAY = 4
    LIVE = 8
    ANON = 16  # payload too small to carry its identity
    BAD_DECODE = 32  # the payload read is none of ours, or its body differs
    IMPLICIT = 64  # a sync that the target did by itself
    WAIT = 128  # the call waited
