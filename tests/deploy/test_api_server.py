"""The manifests and the chart, applied to an API server of Kubernetes, which is built from its Go module.

There are no nodes and no controllers: what is seen is what the API server takes, and that it admits the pods.
"""

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.deploy.operator_schema import DEFINITIONS, KINDS, ROOT, needs_definitions
from tests.deploy.test_kubernetes import EVERY_VALUE, MANIFESTS, NAME, by_kind, needs_helm, rendered
from tests.support.system.processes import Process, eventually, free_port

PROGRAMS = ROOT / "build" / "apiserver"
TOKEN = "known-to-this-test"
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}

pytestmark = [
    pytest.mark.skipif(
        not (PROGRAMS / "kube-apiserver").exists(), reason="there is no API server of Kubernetes (make apiserver)"
    ),
    needs_definitions,
    needs_helm,
]  # fmt: skip

Manifest = Mapping[str, Any]


@dataclass(frozen=True)
class Cluster:
    """An API server that runs."""

    url: str

    def ask(self, path: str, body: object = None) -> Any:
        """GET or POST; the decoded answer.

        Raises:
            urllib.error.HTTPError: the API server refuses it.
        """
        data = json.dumps(body).encode() if body is not None else None
        return json.loads(self.answer(path, data))

    def answer(self, path: str, data: bytes | None = None) -> bytes:
        """The bytes of an answer with status 2xx."""
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers)
        with urllib.request.urlopen(request, context=ssl._create_unverified_context()) as answer:
            return answer.read()

    def make(self, manifest: Manifest, namespace: str = "") -> Any:
        """Create something, with unknown fields refused."""
        group = manifest["apiVersion"]
        root = f"/apis/{group}" if "/" in group else f"/api/{group}"
        inside = f"/namespaces/{namespace}" if namespace else ""
        plural = manifest["kind"].lower() + "s"
        return self.ask(f"{root}{inside}/{plural}?fieldValidation=Strict", manifest)

    def namespace(self, name: str, labels: Mapping[str, str]) -> str:
        """Make a namespace with the service account that a controller would make."""
        self.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        self.make(account, name)
        return name


def is_made(cluster: Cluster, definition: str) -> bool:
    found = cluster.ask(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{definition}")
    conditions = found.get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An API server with the definitions of the Prometheus operator."""
    folder = tmp_path_factory.mktemp("cluster")
    key = folder / "accounts.key"
    key.write_bytes(rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ))  # fmt: skip
    tokens = folder / "tokens.csv"
    tokens.write_text(f"{TOKEN},admin,admin,system:masters\n")
    store, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    port = free_port()
    etcd = [
        str(PROGRAMS / "server"), "--data-dir", str(folder / "etcd"), "--unsafe-no-fsync",
        "--listen-client-urls", store, "--advertise-client-urls", store,
        "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}",
    ]  # fmt: skip
    api = [
        str(PROGRAMS / "kube-apiserver"), "--etcd-servers", store, "--bind-address", "127.0.0.1",
        "--advertise-address", "127.0.0.1", "--endpoint-reconciler-type", "none", "--secure-port", str(port),
        "--cert-dir", str(folder / "certificates"), "--token-auth-file", str(tokens), "--authorization-mode", "RBAC",
        "--service-cluster-ip-range", "10.99.0.0/16", "--service-account-issuer", "https://localhost",
        "--service-account-key-file", str(key), "--service-account-signing-key-file", str(key),
    ]  # fmt: skip
    with (
        Process("etcd", etcd, output=folder / "etcd.txt"),
        Process("kube-apiserver", api, output=folder / "api.txt") as server,
    ):
        made = Cluster(f"https://127.0.0.1:{port}")
        eventually(lambda: is_ready(made, server), within=60, what="an API server that is ready")
        for kind in KINDS:
            definition = yaml.safe_load(
                (DEFINITIONS / f"monitoring.coreos.com_{kind.lower()}s.yaml").read_text()
            )
            made.make(definition)
            name = definition["metadata"]["name"]
            eventually(lambda name=name: is_made(made, name), within=30, what=f"the definition {name}")
        yield made


def is_ready(cluster: Cluster, server: Process) -> bool:
    assert server.returncode is None, server.report()
    return cluster.answer("/readyz") == b"ok"


WAYS: Mapping[str, Mapping[str, Any] | None] = {
    "manifests": None,
    "defaults": {},
    "every-value": {**EVERY_VALUE},
    "service-monitor": {"prometheusRule": True, "monitoring": {"serviceMonitor": {"enabled": True}}},
    "openshift": {"podSecurityContext": {"runAsUser": None, "runAsGroup": None, "fsGroup": None}},
}
"""What is applied: by the name of a namespace, values of the chart; None stands for the plain manifests."""


def manifests(folder: Path, way: str) -> dict[tuple[str, str], Any]:
    values = WAYS[way]
    return by_kind(MANIFESTS.read_text() if values is None else rendered(folder, values))


@pytest.mark.parametrize("way", WAYS)
def test_an_api_server_takes_all_of_it(cluster: Cluster, tmp_path: Path, way: str):
    namespace = cluster.namespace(way, {})
    made = manifests(tmp_path, way)
    assert len(made) >= 5
    for (kind, name), manifest in made.items():
        assert cluster.make(manifest, namespace)["metadata"]["name"] == name, kind


@pytest.mark.parametrize("way", ["manifests", "defaults", "service-monitor"])
def test_its_pods_are_admitted_where_the_strictest_standard_is_enforced(
    cluster: Cluster, tmp_path: Path, way: str
):
    namespace = cluster.namespace(f"restricted-{way}", RESTRICTED)
    template = manifests(tmp_path, way)["StatefulSet", NAME]["spec"]["template"]
    template["spec"]["volumes"].append(
        {"name": "data", "emptyDir": {}}
    )  # a controller would give it the claim
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    pod["metadata"]["name"] = "namekeeper-0"
    assert cluster.make(pod, namespace)["spec"]["containers"][0]["name"] == NAME


def test_a_pod_that_may_be_root_is_not_admitted_there(cluster: Cluster, tmp_path: Path):
    namespace = cluster.namespace("restricted-root", RESTRICTED)
    template = manifests(tmp_path, "defaults")["StatefulSet", NAME]["spec"]["template"]
    template["spec"]["volumes"].append({"name": "data", "emptyDir": {}})
    del template["spec"]["securityContext"]["runAsNonRoot"]
    template["metadata"]["name"] = "namekeeper-0"
    with pytest.raises(urllib.error.HTTPError) as refusal:
        cluster.make({"apiVersion": "v1", "kind": "Pod", **template}, namespace)
    assert "runAsNonRoot" in refusal.value.read().decode()


@pytest.mark.parametrize(
    ("key", "field", "value", "complaint"),
    [
        (("StatefulSet", NAME), "replica", 2, 'unknown field \\"spec.replica\\"'),
        (("PodDisruptionBudget", NAME), "maxUnavailable", -1, "must be greater than or equal to 0"),
        (("PodMonitor", NAME), "endpoint", [], 'unknown field \\"spec.endpoint\\"'),
        (
            ("PodMonitor", NAME),
            "podMetricsEndpoints",
            [{"port": "http", "scheme": "ftp"}],
            "supported values",
        ),
    ],
)
def test_a_broken_field_is_refused(
    cluster: Cluster, tmp_path: Path, key: tuple[str, str], field: str, value: object, complaint: str
):
    broken = manifests(tmp_path, "every-value")[key]
    broken["spec"][field] = value
    with pytest.raises(urllib.error.HTTPError) as refusal:
        cluster.make(broken, "default")
    assert complaint in refusal.value.read().decode()
