import pytest

from namekeeper.http.health import Health, HealthState, Phase, health_of

LATE = {"journal": "the disk is full"}


def test_a_serving_name_server_is_ready() -> None:
    assert health_of(HealthState(phase=Phase.SERVING)) == Health(
        "ok", ready=True, http_status=200, reasons={}
    )


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (HealthState(phase=Phase.DRAINING), "it is stopping"),
        (HealthState(phase=Phase.WAITING), "needWaitForService is on: brokers get time to register"),
        (
            HealthState(phase=Phase.WAITING, wait_seconds_left=12),
            "needWaitForService is on: brokers get time to register, 12 s more",
        ),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_only_the_phase_makes_it_unready(state: HealthState, reason: str, strict: bool) -> None:
    phase = state.phase.value

    assert health_of(state, strict=strict) == Health(
        phase, ready=False, http_status=503, reasons={phase: reason}
    )


@pytest.mark.parametrize("phase", Phase)
def test_what_was_restored_is_said_in_every_phase(phase: Phase) -> None:
    assert health_of(HealthState(phase=phase, restored="restored 4 brokers")).restored == "restored 4 brokers"


def test_degraded_is_ready_and_says_why() -> None:
    state = HealthState(phase=Phase.SERVING, degraded=LATE)

    assert health_of(state) == Health("degraded", ready=True, http_status=200, reasons=LATE)


def test_degraded_is_not_ready_for_who_is_strict() -> None:
    state = HealthState(phase=Phase.SERVING, degraded=LATE)

    assert health_of(state, strict=True) == Health("degraded", ready=False, http_status=503, reasons=LATE)


def test_who_can_reach_nobody_is_not_ready() -> None:
    state = HealthState(phase=Phase.SERVING, degraded={"tls": "there is no certificate"}, is_shut=True)

    assert health_of(state) == Health("degraded", ready=False, http_status=503, reasons=dict(state.degraded))


def test_reasons_add_up() -> None:
    reasons = health_of(HealthState(phase=Phase.DRAINING, degraded=LATE)).reasons

    assert set(reasons) == {"draining", "journal"}
