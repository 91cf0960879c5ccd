"""Arrow batches of a sorted partition → one table per key → tables. A group may go on over any number of batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

__all__ = ["Columns", "per_group"]

Columns = dict[str, list[Any]]
_ROWS_PER_BATCH = 20_000


def per_group(keys: Sequence[str], work: Callable[[Columns], Columns], out: pa.Schema) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """For mapInArrow: `work` sees the columns of one group at a time. The partition must be sorted by the keys."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        made: Columns = {name: [] for name in out.names}
        for group in _groups(batches, keys):
            found = work(group)
            for name in out.names:
                made[name].extend(found[name])
            if len(made[out.names[0]]) >= _ROWS_PER_BATCH:
                yield from pa.Table.from_pydict(made, schema=out).to_batches()
                made = {name: [] for name in out.names}
        yield from pa.Table.from_pydict(made, schema=out).to_batches()

    return run


def _groups(batches: Iterable[Any], keys: Sequence[str]) -> Iterator[Columns]:
    current: tuple[Any, ...] | None = None
    held: Columns = {}
    for batch in batches:
        columns = {name: batch.column(number).to_pylist() for number, name in enumerate(batch.schema.names)}
        named = list(zip(*(columns[key] for key in keys), strict=True))
        begin = 0
        for at in range(1, len(named) + 1):
            if at < len(named) and named[at] == named[begin]:
                continue
            piece = {name: values[begin:at] for name, values in columns.items()}
            if current == named[begin]:
                for name, values in piece.items():
                    held[name].extend(values)
            else:
                if current is not None:
                    yield held
                current, held = named[begin], piece
            begin = at
    if current is not None:
        yield held
