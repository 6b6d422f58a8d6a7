"""Gets the SparkSession of the pipeline: the caller's, the active one, a server's, or a local one.

Only the DataFrame and SQL API is used, so the session may belong to spark-submit or to Spark Connect. Every
session is set to UTC.
"""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from namekeeper.pipeline.failures import errors_of_dead_java
from namekeeper.pipeline.local_session import APP_NAME, local_session, spark_session_class
from namekeeper.pipeline.remote import check_listening
from namekeeper.pipeline.session_settings import prepare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["get_session", "stop_active_session", "stop_session"]


def get_session(
    given: "SparkSession | None" = None,
    *,
    remote: str | None = None,
    master: str = "local[*]",
    conf: Mapping[str, str] | None = None,
) -> "SparkSession":
    """The session to work with: the given one, the active one, a server's, spark-submit's, or a local one.

    Args:
        given: Session of the caller; the settings that the pipeline needs are changed in it.
        remote: Address of a Spark Connect server, `sc://host:port`.
        master: Master of a session that is made here.
        conf: Settings for a session that is made here.

    Raises:
        PipelineError: pyspark is not installed, there is no Java for a local session, or nothing listens at
            the server's address.
    """
    session_class = spark_session_class()
    session = given or session_class.getActiveSession()
    if session is None and remote is not None:
        check_listening(remote)
        session = session_class.builder.remote(remote).getOrCreate()
    if session is None and "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit started this process
        session = session_class.builder.appName(APP_NAME).getOrCreate()
    if session is None:
        return local_session(master, conf)
    return prepare(session)


def stop_session(session: "SparkSession") -> None:
    """End a session; its Java may be dead already, as after a lack of memory."""
    with suppress(*errors_of_dead_java()):
        session.stop()


def stop_active_session() -> None:
    """End the session of this process, if there is one."""
    if "pyspark" not in sys.modules:  # importing it takes seconds
        return
    with suppress(*errors_of_dead_java()):
        session = spark_session_class().getActiveSession()
        if session is not None:
            stop_session(session)
