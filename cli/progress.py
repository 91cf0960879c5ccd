"""One way to show long work: a line that moves on a terminal, plain lines elsewhere. Both go to stderr."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

__all__ = ["Stages", "stages"]


@dataclass
class Stages:
    """What is going on. `stage` begins the next piece of work; `step` is called as it moves on."""

    console: Console
    bar: Progress | None
    _task: TaskID | None = None
    _name: str = ""
    _begun: float = field(default_factory=monotonic)

    def stage(self, name: str, total: int | None = None) -> None:
        self.done()
        self._name, self._begun = name, monotonic()
        if self.bar is not None:
            self._task = self.bar.add_task(name, total=total)
        else:
            self.console.print(f"{name} …", highlight=False, markup=False)

    def step(self, finished: int | None = None, total: int | None = None, text: str | None = None) -> None:
        if self.bar is not None and self._task is not None:
            advance = 1 if finished is None else None
            self.bar.update(self._task, advance=advance, completed=finished, total=total, description=text or self._name)

    def done(self) -> None:
        """Ends the stage; a stage of unknown length shows as whole then."""
        if self.bar is not None and self._task is not None:
            task = next(task for task in self.bar.tasks if task.id == self._task)
            total = task.total if task.total is not None else max(task.completed, 1)
            self.bar.update(self._task, total=total, completed=task.completed or total, description=self._name)
        elif self._name:
            self.console.print(f"{self._name}: {monotonic() - self._begun:.1f} s", highlight=False, markup=False)
        self._task, self._name = None, ""


@contextmanager
def stages() -> Iterator[Stages]:
    console = Console(stderr=True)
    if not console.is_terminal:
        shown = Stages(console, None)
        yield shown
        shown.done()
        return
    columns = (SpinnerColumn(finished_text="✓"), TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        shown = Stages(console, bar)
        yield shown
        shown.done()
