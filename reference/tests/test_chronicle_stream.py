"""Books replayed from a queue equal a plain dictionary; streams merge on ingest time."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.reference.chronicle.archive.snapshots import Periodic, Snapshots, join
from fireassay.reference.chronicle.log_view import LiveSegments, LogView
from fireassay.reference.chronicle.protocol.book_event import (
    TYPE_BOOK,
    BookEvent,
    EventType,
    Level,
    Side,
    pack_book_event,
    unpack_book_event,
)
from fireassay.reference.chronicle.protocol.trade import TYPE_TRADE, Trade, pack_trade, unpack_trade
from fireassay.reference.chronicle.reader import Message
from fireassay.reference.chronicle.stream.aligned import aligned, book_event_of, messages_of, trade_of
from fireassay.reference.chronicle.stream.book_table import Applied, BookTable
from fireassay.reference.chronicle.writer import Writer
from fireassay.spec import layouts
from fireassay.spec.layouts import LayoutError
from fireassay.spec.layouts import chronicle as layout

SEGMENT = 4096

prices = st.integers(-(2**63), 2**63 - 1)
levels = st.builds(Level, st.sampled_from(Side), prices, st.integers(0, 2**64 - 1))
events = st.builds(
    BookEvent,
    event_type=st.sampled_from(EventType),
    ingest_ts_ns=st.integers(0, 2**64 - 1),
    exchange_ts_ns=st.integers(0, 2**64 - 1),
    book_seq=st.integers(0, 2**64 - 1),
    instrument_id=st.integers(0, 2**32 - 1),
    flags=st.integers(0, 2**32 - 1),
    levels=st.lists(levels, max_size=5).map(tuple),
)


@given(events)
def test_a_book_event_is_what_the_specification_lays_out(event: BookEvent) -> None:
    packed = pack_book_event(event)
    told = layouts.parse(layout.BOOK_EVENT, packed)
    assert len(packed) == 64 + len(told["payload"]) == 64 + 24 * len(event.levels)
    for name in ("event_type", "ingest_ts_ns", "exchange_ts_ns", "book_seq", "instrument_id", "flags"):
        assert told[name] == getattr(event, name)
    assert layouts.build(layout.BOOK_EVENT, told) == packed
    assert unpack_book_event(packed) == event


@given(events, st.data())
def test_a_damaged_book_event_is_refused_or_another_one(event: BookEvent, data: st.DataObject) -> None:
    packed = bytearray(pack_book_event(event))
    at = data.draw(st.integers(0, len(packed) - 1))
    packed[at] ^= 1 << data.draw(st.integers(0, 7))
    try:
        found = unpack_book_event(bytes(packed))
    except LayoutError:
        return
    assert found != event
    assert pack_book_event(found) == packed, "each byte has a meaning"


@pytest.mark.parametrize("cut", [0, 1, 63, 65, 87])
def test_a_book_event_that_is_cut_is_refused(cut: int) -> None:
    whole = pack_book_event(
        BookEvent(event_type=EventType.DELTA, ingest_ts_ns=1, book_seq=1, instrument_id=1, levels=(Level(Side.BID, 1, 1),))
    )
    with pytest.raises(LayoutError):
        unpack_book_event(whole[:cut])
    with pytest.raises(LayoutError):
        pack_book_event(BookEvent(event_type=EventType.DELTA, ingest_ts_ns=-1, book_seq=1, instrument_id=1))


def test_a_trade_keeps_its_fields() -> None:
    trade = Trade(instrument_id=1, side=Side.ASK, price=-5, quantity=6, trade_id=7, exchange_ts_ns=8, ingest_ts_ns=9)
    packed = pack_trade(trade)
    assert (len(packed), unpack_trade(packed)) == (48, trade)
    for broken in (packed[:-1], packed + b"x", packed[:4] + b"\2" + packed[5:], packed[:5] + b"\1" + packed[6:]):
        with pytest.raises(LayoutError):
            unpack_trade(broken)


# -- books against a plain dictionary: {(instrument, side, price): quantity}

Plain = dict[tuple[int, Side, int], int]
changes = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.lists(st.builds(Level, st.sampled_from(Side), st.integers(-20, 20), st.integers(0, 3)), max_size=4),
        st.booleans(),
    ),
    max_size=60,
)


def feed(writer: Writer, changed: list[tuple[int, list[Level], bool]]) -> Plain:
    """Writes a snapshot of each instrument when it first appears, or when asked, and else a delta."""
    plain: Plain = {}
    book_seq: dict[int, int] = {}
    for clock, (instrument, some, asked) in enumerate(changed):
        whole = asked or instrument not in book_seq
        book_seq[instrument] = book_seq.get(instrument, 0) + 1
        if whole:
            plain = {key: quantity for key, quantity in plain.items() if key[0] != instrument}
        for level in some:
            plain[instrument, level.side, level.price] = level.quantity
        plain = {key: quantity for key, quantity in plain.items() if quantity}
        event = BookEvent(
            event_type=EventType.SNAPSHOT if whole else EventType.DELTA,
            ingest_ts_ns=clock,
            book_seq=book_seq[instrument],
            instrument_id=instrument,
            levels=tuple(some),
        )
        writer.append(pack_book_event(event), type_id=TYPE_BOOK, timestamp_ns=clock)
    return plain


def as_plain(table: BookTable) -> Plain:
    return {
        (instrument, side, price): quantity
        for instrument, book in table.books.items()
        for side in Side
        for price, quantity in book.depth(side, 1000)
    }


@given(changes)
@settings(max_examples=40)
def test_books_replayed_from_a_queue_equal_a_plain_dictionary(tmp_path_factory: pytest.TempPathFactory, changed: list) -> None:  # type: ignore[type-arg]
    queue = tmp_path_factory.mktemp("books") / "q"
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
        plain = feed(writer, changed)
    snapshots = Snapshots(queue)
    periodic = Periodic(snapshots, every_records=7, every_s=1e9)
    table = BookTable()
    with LogView(LiveSegments(queue, SEGMENT)) as log:
        for message in messages_of(log):
            assert table.apply(book_event_of(message)) is Applied.APPLIED
            periodic.offer(message.seq, message.timestamp_ns, table.state)
    assert as_plain(table) == plain
    for instrument, book in table.books.items():
        bids = [key[2] for key in plain if key[:2] == (instrument, Side.BID)]
        asks = [key[2] for key in plain if key[:2] == (instrument, Side.ASK)]
        assert book.best(Side.BID) == ((max(bids), plain[instrument, Side.BID, max(bids)]) if bids else None)
        assert book.best(Side.ASK) == ((min(asks), plain[instrument, Side.ASK, min(asks)]) if asks else None)
        assert [price for price, _ in book.depth(Side.BID, 9)] == sorted(bids, reverse=True)[:9]
    late = BookTable()
    with LogView(LiveSegments(queue, SEGMENT)) as log:
        how = join(log, snapshots, late.restore)
        for message in messages_of(log):
            assert late.apply(book_event_of(message)) is Applied.APPLIED
    assert (late.state(), how.snapshot) == (table.state(), snapshots.seqs()[-1] if snapshots.seqs() else None)


def test_a_book_with_a_gap_shows_nothing_until_its_next_snapshot() -> None:
    table = BookTable()

    def event(kind: EventType, seq: int, *some: Level) -> BookEvent:
        return BookEvent(event_type=kind, ingest_ts_ns=0, book_seq=seq, instrument_id=1, levels=some)

    assert table.apply(event(EventType.DELTA, 1, Level(Side.BID, 1, 1))) is Applied.WAITING
    assert table.apply(event(EventType.SNAPSHOT, 5, Level(Side.BID, 10, 2))) is Applied.APPLIED
    assert table.apply(event(EventType.DELTA, 5, Level(Side.BID, 10, 9))) is Applied.OLD
    assert table.apply(event(EventType.DELTA, 6, Level(Side.BID, 11, 3))) is Applied.APPLIED
    assert table.apply(event(EventType.SNAPSHOT, 4)) is Applied.OLD
    assert table.books[1].depth(Side.BID, 5) == [(11, 3), (10, 2)]
    assert table.apply(event(EventType.DELTA, 8, Level(Side.BID, 12, 1))) is Applied.GAP
    assert (table.books[1].best(Side.BID), table.state()) == (None, b"")
    assert table.apply(event(EventType.DELTA, 9)) is Applied.WAITING
    assert table.apply(event(EventType.SNAPSHOT, 9, Level(Side.ASK, 7, 7))) is Applied.APPLIED
    assert table.books[1].best(Side.ASK) == (7, 7)


@pytest.mark.parametrize("state", [b"x", bytes(4), b"\x40\0\0\0" + bytes(10), bytes(100)])
def test_a_state_that_is_none_is_refused_and_changes_nothing(state: bytes) -> None:
    table = BookTable()
    table.apply(BookEvent(event_type=EventType.SNAPSHOT, ingest_ts_ns=0, book_seq=1, instrument_id=1, levels=(Level(Side.BID, 1, 1),)))
    before = table.state()
    with pytest.raises(LayoutError):
        table.restore(state)
    assert table.state() == before


# -- alignment

times = st.lists(st.lists(st.integers(0, 30), max_size=20), min_size=1, max_size=4)


@given(times)
def test_streams_merge_on_ingest_time_and_keep_their_order(stamps: list[list[int]]) -> None:
    streams = [[Message(seq, stamp, 0, 0, b"", (0, 0)) for seq, stamp in enumerate(row)] for row in stamps]
    merged = list(aligned(streams))
    for number, stream in enumerate(streams):
        assert [item.message for item in merged if item.stream == number] == stream
    assert [(item.time_ns, item.stream) for item in merged] == sorted((item.time_ns, item.stream) for item in merged)
    if all(row == sorted(row) for row in stamps):
        assert [item.time_ns for item in merged] == sorted(stamp for row in stamps for stamp in row)


def test_a_trade_meets_the_book_of_its_time(tmp_path: Path) -> None:
    rng = random.Random(3)
    best_at: dict[int, int] = {}
    with Writer(tmp_path / "books", SEGMENT, heartbeat_s=0) as books, Writer(tmp_path / "trades", SEGMENT, heartbeat_s=0) as trades:
        price, book_seq = 100, 0
        for clock in range(200):
            if rng.random() < 0.5:
                price, book_seq = price + rng.randrange(-3, 4), book_seq + 1
                event = BookEvent(
                    event_type=EventType.SNAPSHOT,
                    ingest_ts_ns=clock,
                    book_seq=book_seq,
                    instrument_id=1,
                    levels=(Level(Side.BID, price, 1),),
                )
                books.append(pack_book_event(event), type_id=TYPE_BOOK, timestamp_ns=clock)
            if book_seq and rng.random() < 0.5:
                trade = Trade(instrument_id=1, side=Side.BID, price=price, quantity=1, trade_id=clock, ingest_ts_ns=clock)
                trades.append(pack_trade(trade), type_id=TYPE_TRADE, timestamp_ns=clock)
                best_at[clock] = price
    table = BookTable()
    met: dict[int, int] = {}
    with LogView(LiveSegments(tmp_path / "books", SEGMENT)) as one, LogView(LiveSegments(tmp_path / "trades", SEGMENT)) as two:
        for item in aligned([messages_of(one), messages_of(two)]):
            if item.stream == 0:
                table.apply(book_event_of(item.message))
            else:
                best = table.books[1].best(Side.BID)
                assert best is not None
                met[trade_of(item.message).trade_id] = best[0]
    assert met == best_at


def test_an_event_with_another_time_than_its_message_is_refused() -> None:
    event = BookEvent(event_type=EventType.DELTA, ingest_ts_ns=5, book_seq=1, instrument_id=1)
    trade = Trade(instrument_id=1, side=Side.ASK, price=1, quantity=1, trade_id=1, ingest_ts_ns=5)
    for payload, read in ((pack_book_event(event), book_event_of), (pack_trade(trade), trade_of)):
        read(Message(0, 5, 0, 0, payload, (0, 0)))
        with pytest.raises(LayoutError, match="two ingest times"):
            read(Message(0, 6, 0, 0, payload, (0, 0)))
