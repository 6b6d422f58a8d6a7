"""The metrics of a server that has everything."""

import re

from namekeeper.http.metrics import render_metrics
from namekeeper.http.stats import CertificateStats, JournalStats, NameServerStats

__all__ = ["metrics_text", "our_metrics"]


def metrics_text() -> str:
    """What `/metrics` answers, with a series for each label that rules and dashboards name."""
    stats = NameServerStats(
        version="1", start_time_seconds=1.0, degraded=("log",), registrations={"new": 1}, expiries=1,
        requests={(105, 17): 1}, fingerprints={"topics": 1}, journal=JournalStats(folder="/"),
        certificates={"remoting": CertificateStats(not_after_seconds=1.0)},
    )  # fmt: skip
    return render_metrics(stats)[0].decode()


def our_metrics() -> set[str]:
    """Their names."""
    return set(re.findall(r"^(\w+)", metrics_text(), re.MULTILINE)) | {"up"}
