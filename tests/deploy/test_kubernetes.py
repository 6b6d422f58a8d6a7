"""The manifests for Kubernetes and the Helm chart: valid by the schemas of Kubernetes, and the same by default."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import kubernetes_validate
import pytest
import yaml

from namekeeper.config.startup import make_startup
from tests.deploy.prometheus import ROOT
from tests.support.system.waiting import PATIENCE

MANIFESTS = ROOT / "deploy" / "kubernetes" / "namekeeper.yaml"
CHART = ROOT / "deploy" / "helm" / "namekeeper"
HELM = shutil.which("helm")
VERSION = "1.30"

HAS_LIBRARY = find_spec("helm_python") is not None
NAME = "namekeeper"

needs_helm = pytest.mark.skipif(
    HELM is None and not HAS_LIBRARY, reason="neither helm nor its library is installed (make chart)"
)

Manifest = dict[str, Any]


def by_kind(text: str) -> dict[tuple[str, str], Manifest]:
    manifests = [each for each in yaml.safe_load_all(text) if each]
    return {(each["kind"], each["metadata"]["name"]): each for each in manifests}


def rendered(folder: Path, values: Mapping[str, object] = MappingProxyType({})) -> str:
    """The chart with some values: by Helm if it is installed, else by its library."""
    if HELM is None:
        with import_module("helm_python").Chart.load(str(CHART)) as chart:
            made = chart.render(dict(values), name=NAME, namespace="default")
        return "\n---\n".join(text for path, text in made.items() if path.endswith(".yaml"))
    file = folder / "values.json"
    file.write_text(json.dumps(dict(values)))
    done = subprocess.run(
        [HELM, "template", NAME, str(CHART), "--values", str(file)],
        capture_output=True, text=True, timeout=60 * PATIENCE, check=True,
    )  # fmt: skip
    return done.stdout


PLAIN = by_kind(MANIFESTS.read_text())
POD = PLAIN["StatefulSet", "namekeeper"]["spec"]["template"]["spec"]


@pytest.mark.parametrize("key", PLAIN)
def test_a_manifest_fits_the_schema(key: tuple[str, str]):
    assert kubernetes_validate.validate(PLAIN[key], VERSION, strict=True) == VERSION


def test_a_manifest_that_does_not_fit_is_found():
    wrong = {**PLAIN["Service", "namekeeper"], "specs": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSION, strict=True)


def test_its_properties_start_a_server():
    text = PLAIN["ConfigMap", "namekeeper"]["data"]["namesrv.properties"]
    flags = dict(line.split("=", 1) for line in text.split())
    config = make_startup(environment={}, flags=flags).runtime_config
    assert config.unknown == {}
    assert config.settings.listen_port == 9876


def test_services_set_no_variable_of_ours():
    assert POD["enableServiceLinks"] is False  # NAMEKEEPER_HTTP_PORT is a property


def test_the_address_list_names_every_pod_of_the_headless_service():
    stateful = PLAIN["StatefulSet", "namekeeper"]["spec"]
    text = PLAIN["ConfigMap", "namekeeper"]["data"]["namesrv.properties"]
    found = re.search(r"^addressServerList=(.*)$", text, re.MULTILINE)
    assert found is not None
    expected = [
        f"namekeeper-{number}.{stateful['serviceName']}:9876" for number in range(stateful["replicas"])
    ]
    assert found[1].split(";") == expected


def test_probes_and_services_use_ports_that_the_server_has():
    (container,) = POD["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"namesrv": 9876, "http": 9886}
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["port"] in ports
    for kind, name in PLAIN:
        if kind == "Service":
            offered = {port["name"]: port["port"] for port in PLAIN[kind, name]["spec"]["ports"]}
            assert offered.items() <= ports.items()


@needs_helm
def test_the_chart_makes_the_same_by_default(tmp_path: Path):
    made = by_kind(rendered(tmp_path))
    template = made["StatefulSet", "namekeeper"]["spec"]["template"]
    assert len(template["metadata"]["annotations"].pop("checksum/config")) == 64
    assert made == PLAIN


@needs_helm
def test_values_of_the_chart_are_used_and_fit_the_schema(tmp_path: Path):
    values = {
        "replicas": 3, "storage": {"className": "fast", "size": "1Gi"}, "image": {"tag": "1.2"},
        "prometheusRule": True, "httpHostNames": ["ns.example.com"],
    }  # fmt: skip
    made = by_kind(rendered(tmp_path, values))
    stateful = made["StatefulSet", "namekeeper"]["spec"]
    assert stateful["replicas"] == 3
    assert stateful["template"]["spec"]["containers"][0]["image"] == "namekeeper:1.2"
    (claim,) = stateful["volumeClaimTemplates"]
    assert claim["spec"]["storageClassName"] == "fast"
    text = made["ConfigMap", "namekeeper"]["data"]["namesrv.properties"]
    assert "namekeeper-2.namekeeper:9876" in text
    assert "namekeeper-2.namekeeper;namekeeper-http;ns.example.com\n" in text
    assert made["PrometheusRule", "namekeeper"]["spec"]["groups"][0]["name"] == "namekeeper"
    for key, manifest in made.items():
        if key[0] != "PrometheusRule":
            kubernetes_validate.validate(manifest, VERSION, strict=True)
