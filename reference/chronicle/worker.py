"""A writer to be killed: appends records that tell their own number and says on standard output what is in the queue.

    python -m fireassay.reference.chronicle.worker QUEUE COUNT SEGMENT_SIZE

A line is a number that was appended, or "s" and the count of records that a flush covers. Variant and control file come from
the environment. It opens the queue twice, so that one life sees creation, rolls, flushes and recovery.
"""

import os
import sys

from fireassay.reference.chronicle.writer import Writer

__all__ = ["main", "payload_of"]


def payload_of(number: int) -> bytes:
    """Empty, short and longer ones."""
    return (b"%d," % number * 64)[: number * 37 % 300]


def _say(text: str) -> None:
    os.write(1, text.encode())


def main(arguments: list[str]) -> int:
    path, count, segment_size = arguments[0], int(arguments[1]), int(arguments[2])
    for part in range(2):
        with Writer(path, segment_size, heartbeat_s=0) as writer:
            for i in range(count // 2):
                _say(f"{writer.append(payload_of(writer.next_seq))}\n")
                if (i + part) % 9 == 8:
                    covered = writer.next_seq
                    writer.flush_sync()
                    _say(f"s {covered}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
