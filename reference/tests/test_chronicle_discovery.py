"""Router discovery: each strategy once, none missed, whatever the watch has seen; feeds that must be there."""

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fireassay.reference.chronicle.bus.feeds import MissingFeed, require_feeds
from fireassay.reference.chronicle.bus.layout import Bus, make_endpoint
from fireassay.reference.chronicle.bus.markers import READY, clear_ready, mark_ready
from fireassay.reference.chronicle.bus.router_discovery import Added, Removed, RouterDiscovery
from fireassay.reference.chronicle.bus.watch import Watch
from fireassay.reference.chronicle.writer import Writer

NEVER = 1e9
DEADLINE_S = 20.0


def comes(bus: Bus, name: str) -> None:
    mark_ready(make_endpoint(bus.strategy(name).orders_out))


def added(bus: Bus, *names: str) -> list[Added]:
    return [Added(name, bus.strategy(name).orders_out) for name in names]


@contextmanager
def discovery(bus: Bus, *, rescan_s: float = NEVER, watch: bool = True) -> Iterator[RouterDiscovery]:
    with RouterDiscovery(bus, rescan_s=rescan_s, watch=watch) as made:
        assert made.watching is watch
        yield made


def test_those_there_before_the_start_are_added_once(tmp_path: Path) -> None:
    bus = Bus(tmp_path)
    comes(bus, "b")
    comes(bus, "a")
    make_endpoint(bus.strategy("unready").orders_out)
    with discovery(bus) as router:
        assert router.poll() == added(bus, "a", "b")
        assert router.poll() == []


def test_one_that_comes_is_added_when_it_is_ready_and_removed_when_it_is_not(tmp_path: Path) -> None:
    bus = Bus(tmp_path / "made" / "later")
    with discovery(bus) as router:
        assert router.poll() == []
        endpoint = make_endpoint(bus.strategy("a").orders_out)
        with Writer(endpoint, 1024, heartbeat_s=0):
            assert router.poll(0.01) == []
            mark_ready(endpoint)
            assert router.poll(DEADLINE_S) == added(bus, "a")
            assert router.poll(0.01) == []
            clear_ready(endpoint)
            assert router.poll(DEADLINE_S) == [Removed("a")]
            mark_ready(endpoint)
            assert router.poll(DEADLINE_S) == added(bus, "a")
        shutil.rmtree(bus.root)
        assert router.poll(DEADLINE_S) == [Removed("a")]
        comes(bus, "a")
        assert router.poll(DEADLINE_S) == added(bus, "a")


def test_one_that_left_and_came_back_between_two_polls_is_removed_and_added(tmp_path: Path) -> None:
    bus = Bus(tmp_path)
    comes(bus, "a")
    with discovery(bus) as router:
        assert router.poll() == added(bus, "a")
        clear_ready(bus.strategy("a").orders_out)
        comes(bus, "a")
        assert router.poll() == [Removed("a"), *added(bus, "a")]


def test_without_a_watch_the_rescan_finds_everything(tmp_path: Path) -> None:
    bus = Bus(tmp_path)
    with discovery(bus, rescan_s=0.01, watch=False) as router:
        comes(bus, "a")
        assert router.poll(DEADLINE_S) == added(bus, "a")
        clear_ready(bus.strategy("a").orders_out)
        assert router.poll(DEADLINE_S) == [Removed("a")]


def test_events_that_the_kernel_dropped_are_made_up_for(tmp_path: Path) -> None:
    bus = Bus(tmp_path)
    comes(bus, "a")
    with discovery(bus) as router:
        assert router.poll() == added(bus, "a")
        overflow(bus)
        comes(bus, "z")
        clear_ready(bus.strategy("a").orders_out)
        assert router.poll(DEADLINE_S) == [Removed("a"), *added(bus, "z")]


def overflow(bus: Bus) -> None:
    """More events than the kernel keeps, none of which matters."""
    room = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    place = bus.strategy("a").orders_out.parent
    for number in range(room // 2 + 1):
        os.close(os.open(place / f"n{number % 2}", os.O_CREAT | os.O_WRONLY, 0o600))
        os.unlink(place / f"n{number % 2}")


def test_the_watch_says_when_something_was_dropped(tmp_path: Path) -> None:
    with Watch() as watch:
        number = watch.add(tmp_path)
        assert watch.add(tmp_path) == number
        assert watch.add(tmp_path / "none") is None
        (tmp_path / "x").touch()
        seen, whole = watch.drain()
        assert ([(event.number, event.name) for event in seen], whole) == ([(number, "x")], True)
        bus = Bus(tmp_path)
        place = make_endpoint(bus.strategy("a").orders_out).parent
        assert watch.add(place) is not None
        overflow(bus)
        assert watch.drain()[1] is False
        assert watch.drain() == ([], True)
        assert not watch.wait(0)


@pytest.mark.parametrize("content", ["directory", "link", "pipe"])
def test_what_is_called_ready_and_is_no_file_is_not_ready(tmp_path: Path, content: str) -> None:
    bus = Bus(tmp_path)
    path = make_endpoint(bus.strategy("a").orders_out) / READY
    {"directory": path.mkdir, "link": lambda: path.symlink_to("/etc/hostname"), "pipe": lambda: os.mkfifo(path)}[content]()
    with discovery(bus) as router:
        assert router.poll() == []


def test_strangers_in_the_directory_are_left_alone(tmp_path: Path) -> None:
    bus = Bus(tmp_path)
    make_endpoint(bus.strategies)
    (bus.strategies / "file").touch()
    (bus.strategies / "link").symlink_to(tmp_path)
    (bus.strategies / ".hidden" / "orders_out").mkdir(parents=True)
    mark_ready(bus.strategies / ".hidden" / "orders_out")
    with discovery(bus) as router:
        assert router.poll() == []


def test_strategies_that_come_and_go_all_the_time_end_up_as_they_are(tmp_path: Path) -> None:
    bus = Bus(tmp_path / "bus")
    names = [f"s{number}" for number in range(5)]

    def churn() -> None:
        for round_ in range(40):
            for name in names:
                comes(bus, name)
                if (round_ + int(name[1:])) % 3:
                    clear_ready(bus.strategy(name).orders_out)
                if (round_ + int(name[1:])) % 4 == 0:
                    shutil.rmtree(bus.strategy(name).orders_out.parent)
        comes(bus, "last")

    thread = threading.Thread(target=churn)
    known: set[str] = set()
    with discovery(bus) as router:
        thread.start()
        while "last" not in known:
            changes = router.poll(DEADLINE_S)
            assert changes, "the last strategy was never found"
            apply(known, changes)
        thread.join()
        apply(known, router.poll())
    assert known == {"last", *(name for name in names if (bus.strategy(name).orders_out / READY).exists())}


def apply(known: set[str], changes: list[Added | Removed]) -> None:
    for change in changes:
        if isinstance(change, Added):
            assert change.strategy not in known, "added twice"
            known.add(change.strategy)
        else:
            known.remove(change.strategy)


class Strategies(RuleBasedStateMachine):
    """Three strategies do what they like; a router with a watch and one without see the same, and the truth."""

    names = st.sampled_from(["a", "b", "c"])

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="fireassay-"))
        self.bus = Bus(self.root)
        self.routers = [RouterDiscovery(self.bus, rescan_s=NEVER), RouterDiscovery(self.bus, rescan_s=0, watch=False)]
        self.known: list[set[str]] = [set(), set()]

    def there(self, name: str) -> bool:
        return self.bus.strategy(name).orders_out.is_dir()

    @rule(name=names)
    def make(self, name: str) -> None:
        make_endpoint(self.bus.strategy(name).orders_out)

    @rule(name=names)
    def ready(self, name: str) -> None:
        if self.there(name):
            mark_ready(self.bus.strategy(name).orders_out)

    @rule(name=names)
    def unready(self, name: str) -> None:
        if self.there(name):
            clear_ready(self.bus.strategy(name).orders_out)

    @rule(name=names)
    def leave(self, name: str) -> None:
        shutil.rmtree(self.bus.strategy(name).orders_out.parent, ignore_errors=True)

    @rule(name=names)
    def go_elsewhere(self, name: str) -> None:
        if self.there(name):
            shutil.rmtree(self.root / "elsewhere", ignore_errors=True)
            self.bus.strategy(name).orders_out.parent.rename(self.root / "elsewhere")

    @precondition(lambda self: self.root.is_dir())
    @rule()
    def vanish(self) -> None:
        shutil.rmtree(self.root)

    @rule()
    def look(self) -> None:
        truth = {name for name in "abc" if (self.bus.strategy(name).orders_out / READY).exists()}
        for router, known in zip(self.routers, self.known, strict=True):
            apply(known, router.poll())
            assert known == truth

    @invariant()
    def is_watching(self) -> None:
        assert self.routers[0].watching

    def teardown(self) -> None:
        self.look()
        for router in self.routers:
            router.close()
        shutil.rmtree(self.root, ignore_errors=True)


TestStrategies = Strategies.TestCase
TestStrategies.settings = settings(max_examples=40, stateful_step_count=20)


def test_a_configured_feed_that_is_missing_is_named_at_once(tmp_path: Path) -> None:
    bus = Bus(tmp_path)
    Writer(make_endpoint(bus.raw_queue("here")), 1024, heartbeat_s=0).close()
    make_endpoint(bus.raw_queue("empty"))
    assert require_feeds(bus, ["here"]) == {"here": bus.raw_queue("here")}
    with pytest.raises(MissingFeed, match="start their writers first") as missing:
        require_feeds(bus, ["here", "empty", "none"])
    assert list(missing.value.missing) == ["empty", "none"]
