"""`fireassay failpoints` and `fireassay mutants` list what the core has."""

import json
import subprocess
import sys

import pytest

from fireassay.reference.failpoints import failpoints
from fireassay.reference.mutants import mutants

EXPECTED = {
    "failpoints": [{"failpoint": point.name, "kind": point.kind.name.lower(), "what": point.what} for point in failpoints()],
    "mutants": [{"mutant": mutant.name, "clause": mutant.clause, "fault": mutant.what} for mutant in mutants()],
}


@pytest.mark.parametrize("command", EXPECTED)
def test_the_command_lists_every_row(command: str) -> None:
    call = [sys.executable, "-c", "from fireassay.cli.main import main; main()", command]
    done = subprocess.run([*call, "--json"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == EXPECTED[command]
    table = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert table.returncode == 0
    assert f"{len(EXPECTED[command])} {command}" in table.stdout
    assert all(next(iter(row.values())) in table.stdout for row in EXPECTED[command])
