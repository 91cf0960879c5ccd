"""Targets by name: what `--target` accepts, and how it becomes a Target. specs.py says how it is written."""

from fireassay.conformance.targets.registry import FailpointInfo, control_file, failpoints, known, load, loaded, pid_of, small
from fireassay.conformance.targets.specs import TargetSpec, parse

__all__ = ["FailpointInfo", "TargetSpec", "control_file", "failpoints", "known", "load", "loaded", "parse", "pid_of", "small"]
