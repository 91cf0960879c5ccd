"""Maps ./spec to fireassay.spec and so on, and builds the C extensions; all else stands in pyproject.toml."""

from setuptools import find_packages, setup

ROOTS = ("spec", "reference", "conformance", "chaos", "perf", "reports", "cli")
found = find_packages(include=[pattern for root in ROOTS for pattern in (root, f"{root}.*")])

setup(
    packages=[f"fireassay.{package}" for package in found],
    package_dir={f"fireassay.{package}": package.replace(".", "/") for package in found},
    cffi_modules=[
        "reference/_build_core.py:release",
        "reference/_build_core.py:failpoints",
        "reference/_build_core.py:mutants",
        "conformance/recorder/_build_recorder.py:ffi",
        "perf/_build_floors.py:ffi",
    ],
)
