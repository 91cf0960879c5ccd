"""Where and with what a run was made: kind of machine and versions; no names of hosts, users or folders."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

__all__ = ["environment", "versions"]

PACKAGES = ("fireassay", "cffi", "numpy", "pyarrow", "pytest", "hypothesis", "pyspark", "chaostoolkit")


def environment() -> dict[str, Any]:
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cpus": os.cpu_count() or 0,
        "cpus_usable": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "root": os.geteuid() == 0,
    }


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return ""
