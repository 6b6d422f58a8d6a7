"""Tables that count no shadow."""

__all__ = ["TOGETHER"]

TOGETHER = (
    "broker_state_daily", "broker_availability_daily", "broker_flap", "topic_availability_daily",
    "topic_outage_daily", "propagation_lag", "view_drift_broker", "view_drift_topic", "incident",
)  # fmt: skip
"""Tables of what name servers tell together."""
