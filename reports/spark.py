"""One Spark session with a beginning and an end: its own JVM, on loopback, in a directory of its own, nothing left behind.

pyspark reads much of its setting from the environment of the process that starts the JVM. It is changed only while the JVM starts.
"""

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fireassay.reports.java import Java, find_java
from fireassay.reports.processes import below, end_all
from fireassay.spec.outcomes import EnvironmentUnfit, HarnessError

__all__ = ["spark_session"]

_LOOPBACK = "127.0.0.1"
_JVM_ENDS_WITHIN_S = 30.0
_ALIEN = ("SPARK_HOME", "SPARK_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE_ENABLED", "PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS")
_LEFT_BY_PYSPARK = ("SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE")  # pyspark reads them again while the session lives
_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = error
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
"""


@contextmanager
def spark_session(app_name: str, master: str = "local[*]", *, java: Java | None = None, **conf: str) -> Iterator[Any]:
    """A session that ends with the block, JVM and Python workers included. `conf` wins over what is set here.

    One at a time in a process: pyspark keeps its JVM in class variables.
    """
    try:
        from pyspark import SparkContext
    except ImportError as why:
        raise EnvironmentUnfit(f"pyspark cannot be imported ({why}). Install fireassay[spark].") from None
    if SparkContext._gateway is not None:
        raise HarnessError("this process already runs a Spark session; end it before the next one begins")
    chosen = java or find_java()
    with tempfile.TemporaryDirectory(prefix="fireassay-spark-") as place:
        settings = {"spark.app.name": app_name, "spark.master": master} | _settings(Path(place), conf)
        with _environment({}, _LEFT_BY_PYSPARK):
            try:
                yield _started(settings, chosen, Path(place))
            finally:
                _end()


def _settings(directory: Path, conf: Mapping[str, str]) -> dict[str, str]:
    (directory / "log4j2.properties").write_text(_LOGGING)
    options = [
        f'"-Djava.io.tmpdir={directory}"',
        f'"-Dderby.system.home={directory}"',
        f'"-Dlog4j2.configurationFile={(directory / "log4j2.properties").as_uri()}"',
        "-Duser.timezone=UTC",
        "-XX:-UsePerfData",  # else a file in the shared temporary directory
        conf.get("spark.driver.extraJavaOptions", ""),
    ]
    return {
        "spark.driver.host": _LOOPBACK,
        "spark.driver.bindAddress": _LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(directory),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        **conf,
        "spark.driver.extraJavaOptions": " ".join(options).strip(),
    }


def _launch_environment(java: Java, directory: Path) -> dict[str, str]:
    return {
        "JAVA_HOME": str(java.home),
        "SPARK_LOCAL_IP": _LOOPBACK,
        "SPARK_LOCAL_DIRS": str(directory),  # wins over spark.local.dir, so a user's own must not stay
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path),  # workers import what the driver imports
        "TZ": "UTC",
    }


@contextmanager
def _environment(changed: Mapping[str, str], dropped: tuple[str, ...]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in (*changed, *dropped)}
    try:
        os.environ.update(changed)
        for name in dropped:
            os.environ.pop(name, None)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _started(settings: Mapping[str, str], java: Java, directory: Path) -> Any:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    with _environment(_launch_environment(java, directory), _ALIEN):
        try:
            return builder.config(map=dict(settings)).getOrCreate()
        except PySparkRuntimeError as why:
            raise EnvironmentUnfit(f"Spark did not start on Java {java.version} ({java.home}): {why}") from why
        finally:
            type(builder)._options = {}  # shared by all builders of the process


def _end() -> None:
    """Stop the session and its JVM, and see that the processes below are gone. Works too where the JVM was killed."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway = SparkContext._gateway
    if gateway is None:
        return
    jvm: subprocess.Popen[bytes] = gateway.proc
    workers = below(jvm.pid)
    context, session = SparkContext._active_spark_context, SparkSession._instantiatedSession
    try:
        with suppress(Py4JError, OSError), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that the JVM is dead: it is to be
            if context is not None:
                context.stop()
            if session is not None and jvm.poll() is None:
                session.stop()
        workers |= below(jvm.pid)
        with suppress(Py4JError, OSError):
            gateway.shutdown()
    finally:
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        _end_jvm(jvm)
        end_all(workers, within_s=5.0)


def _end_jvm(jvm: subprocess.Popen[bytes]) -> None:
    """The JVM ends by itself once its standard input is closed."""
    if jvm.stdin is not None:
        with suppress(BrokenPipeError):
            jvm.stdin.close()
    try:
        jvm.wait(_JVM_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()
