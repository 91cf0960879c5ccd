"""The whole way with a real Spark: the verdicts are those of the plain engine."""

from pathlib import Path

from fireassay.reports.judging import judge_run
from fireassay.reports.tests.made_runs import clean, lossy, make_run


def test_spark_and_the_plain_engine_judge_a_run_alike(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a run with blanks", [clean, lossy, clean], rows_per_file=11)
    plain = judge_run(run, engine="python").verdicts
    spark = judge_run(run, engine="spark", master="local[2]")
    assert spark.certificate["engine"] == "spark"
    assert {**spark.verdicts, "engine": "python"} == plain
