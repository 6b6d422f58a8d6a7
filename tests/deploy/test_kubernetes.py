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

import jsonschema
import kubernetes_validate
import pytest
import yaml

from namekeeper.cli.commands.observe import observe
from namekeeper.config.startup import make_startup
from namekeeper.observe.config import Observing, parse_observing
from tests.deploy import operator_schema
from tests.deploy.operator_schema import needs_definitions
from tests.deploy.prometheus import ROOT, STEPS, firing, needs_promtool
from tests.support.system.waiting import PATIENCE

MANIFESTS = ROOT / "deploy" / "kubernetes" / "namekeeper.yaml"
CHART = ROOT / "deploy" / "helm" / "namekeeper"
HELM = shutil.which("helm")
VERSIONS = ("1.30", "1.34", "1.37")
"""Of Kubernetes: from one that is old to the newest whose schemas are at hand."""

HAS_LIBRARY = find_spec("helm_python") is not None
NAME = "namekeeper"

needs_helm = pytest.mark.skipif(
    HELM is None and not HAS_LIBRARY, reason="neither helm nor its library is installed (make chart)"
)

Manifest = dict[str, Any]


EVERY_VALUE: Mapping[str, Any] = {
    "replicas": 3,
    "image": {"repository": "registry.example/namekeeper", "tag": "1.2", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "registry"}],
    "properties": {"journalRetentionBytes": 8_589_934_592, "orderMessageEnable": True},
    "httpHostNames": ["ns.example.com"],
    "tls": {
        "existingSecret": "certificates", "mode": "enforcing", "clientAuth": "optional", "https": True,
        "passwordSecret": {"name": "passwords", "key": "tls"},
    },
    "access": {"existingConfigMap": "rules", "existingSecret": "keys", "file": "rules.toml"},
    "storage": {"size": "1Gi", "className": "fast"},
    "resources": {"limits": {"memory": "2Gi"}},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "mq", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "namekeeper"}}},
    ]}},
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
         "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "namekeeper"}}},
    ],
    "priorityClassName": "high",
    "podSecurityContext": {"runAsUser": 4000},
    "containerSecurityContext": {"runAsNonRoot": True},
    "serviceAccount": {"create": True, "name": "mq", "annotations": {"role": "mq"}, "automountToken": True},
    "podLabels": {"team": "mq"},
    "podAnnotations": {"sidecar": "off"},
    "service": {"annotations": {"dns": "on"}, "labels": {"team": "mq"}},
    "extraEnv": [{"name": "ALICE", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "alice"}}}],
    "extraEnvFrom": [{"secretRef": {"name": "more-keys"}}],
    "extraVolumes": [{"name": "zone", "hostPath": {"path": "/usr/share/zoneinfo"}}],
    "extraVolumeMounts": [{"name": "zone", "mountPath": "/usr/share/zoneinfo", "readOnly": True}],
    "monitoring": {
        "job": "mq-prod", "labels": {"release": "prometheus"},
        "podMonitor": {"enabled": True, "interval": "15s", "tlsConfig": {"insecureSkipVerify": True}},
        "serviceMonitor": {"enabled": False, "interval": "15s", "tlsConfig": {"insecureSkipVerify": True}},
    },
    "prometheusRule": True,
    "observe": {
        "enabled": True, "config": 'answer_within = "9s"\n[clusters.east]\nname_servers = ["ns:9876"]\n',
        "shadowPort": 9877, "hostNames": ["page.example.com"], "tokenSecret": "page",
        "extraEnv": [{"name": "OPS", "valueFrom": {"secretKeyRef": {"name": "receivers", "key": "ops"}}}],
        "storage": {"size": "2Gi", "className": "slow"}, "resources": {"limits": {"memory": "512Mi"}},
    },
}  # fmt: skip
"""Each value of the chart, none of them as it is by default."""


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
OBSERVE_TEXT = (MANIFESTS.parent / "namekeeper-observe.yaml").read_text()
OBSERVE = by_kind(re.sub("(?m)^ *#shadow .*\n", "", OBSERVE_TEXT))
WITH_SHADOW = by_kind(OBSERVE_TEXT.replace("#shadow ", ""))
POD = PLAIN["StatefulSet", "namekeeper"]["spec"]["template"]["spec"]


def check(manifests: Mapping[tuple[str, str], Manifest]) -> int:
    """Validate all but those of the Prometheus operator, by each version; return how many there are."""
    checked = 0
    for (kind, _), manifest in manifests.items():
        if kind not in operator_schema.KINDS:
            for version in VERSIONS:
                assert kubernetes_validate.validate(manifest, version, strict=True) == version
            checked += 1
    return checked


@pytest.mark.parametrize("key", PLAIN | OBSERVE)
def test_a_manifest_fits_the_schema(key: tuple[str, str]):
    assert check({key: (PLAIN | OBSERVE)[key]}) == 1


def observed_by(manifests: Mapping[tuple[str, str], Manifest]) -> Observing:
    """What the companion of some manifests observes, as its command reads it."""
    text = manifests["ConfigMap", "namekeeper-observe"]["data"]["observe.toml"]
    return parse_observing(text, source="/etc/namekeeper/observe.toml", journal="j")


def test_the_companion_observes_every_pod_and_its_options_are_those_of_the_command():
    (cluster,) = observed_by(OBSERVE).clusters
    replicas = PLAIN["StatefulSet", "namekeeper"]["spec"]["replicas"]
    assert [str(each) for each in cluster.name_servers] == [
        f"namekeeper-{number}.namekeeper:9876" for number in range(replicas)
    ]
    (container,) = OBSERVE["StatefulSet", "namekeeper-observe"]["spec"]["template"]["spec"]["containers"]
    program, name, *options = container["args"]
    assert (program, name) == ("namekeeper", "observe")
    context = observe.make_context("observe", options)
    folders = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert Path(context.params["config_file"]).parent.as_posix() in folders
    assert Path(context.params["journal"]).parent.as_posix() in folders
    assert (context.params["host"], context.params["port"]) == (
        "0.0.0.0",
        container["ports"][0]["containerPort"],
    )


@needs_helm
def test_the_chart_makes_the_same_companion(tmp_path: Path):
    made = by_kind(rendered(tmp_path, {"observe": {"enabled": True}}))
    template = made["StatefulSet", "namekeeper-observe"]["spec"]["template"]
    assert len(template["metadata"].pop("annotations")["checksum/config"]) == 64
    assert {key: each for key, each in made.items() if key not in PLAIN} == OBSERVE


def test_the_companion_may_have_a_shadow_that_brokers_reach_at_its_service():
    (cluster,) = observed_by(WITH_SHADOW).clusters
    assert cluster.shadow is not None
    assert observed_by(by_kind(OBSERVE_TEXT)) == observed_by(OBSERVE)
    stateful = WITH_SHADOW["StatefulSet", "namekeeper-observe"]
    (container,) = stateful["spec"]["template"]["spec"]["containers"]
    service = WITH_SHADOW["Service", "namekeeper-observe"]["spec"]["ports"]
    assert [each["port"] for each in service] == [each["containerPort"] for each in container["ports"]]
    assert service[1] == {"name": "shadow", "port": cluster.shadow.port}
    assert check(WITH_SHADOW) == len(WITH_SHADOW)
    (plain,) = observed_by(OBSERVE).clusters
    assert plain.shadow is None


@needs_helm
def test_the_chart_makes_the_same_companion_with_a_shadow(tmp_path: Path):
    made = by_kind(rendered(tmp_path, {"observe": {"enabled": True, "shadowPort": 9876}}))
    del made["StatefulSet", "namekeeper-observe"]["spec"]["template"]["metadata"]["annotations"]
    assert {key: each for key, each in made.items() if key not in PLAIN} == WITH_SHADOW


@needs_helm
def test_values_of_the_companion_are_used(tmp_path: Path):
    made = by_kind(rendered(tmp_path, EVERY_VALUE))
    assert [cluster.label for cluster in observed_by(made).clusters] == ["east"]
    stateful = made["StatefulSet", "namekeeper-observe"]["spec"]
    (container,) = stateful["template"]["spec"]["containers"]
    assert "--allow-host=page.example.com" in container["args"]
    assert container["ports"][1:] == [{"name": "shadow", "containerPort": 9877}]
    assert container["env"][0]["valueFrom"]["secretKeyRef"]["name"] == "page"
    assert container["env"][1:] == EVERY_VALUE["observe"]["extraEnv"]
    assert container["resources"] == {
        "requests": {"cpu": "100m", "memory": "256Mi"},
        "limits": {"memory": "512Mi"},
    }
    (claim,) = stateful["volumeClaimTemplates"]
    assert claim["spec"]["storageClassName"] == "slow"
    assert claim["spec"]["resources"]["requests"] == {"storage": "2Gi"}


def test_a_manifest_that_does_not_fit_is_found():
    wrong = {**PLAIN["Service", "namekeeper"], "specs": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)


def test_its_properties_start_a_server():
    text = PLAIN["ConfigMap", "namekeeper"]["data"]["namesrv.properties"]
    config = make_startup(environment={}, file_data=text.encode()).runtime_config
    assert config.unknown == {}
    assert config.settings.http_bind_address == "0.0.0.0"


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
    check(made)


def names_of(values: Mapping[str, Any], prefix: str = "") -> set[str]:
    """Names of the values that the chart itself knows: maps whose keys are its own are entered."""
    open_maps = {
        "properties",
        "podAnnotations",
        "resources",
        "podSecurityContext",
        "containerSecurityContext",
    }
    found = set()
    for name, value in values.items():
        inside = isinstance(value, dict) and value and name not in open_maps
        found |= names_of(value, f"{prefix}{name}.") if inside else {prefix + name}
    return found


def test_every_value_of_the_chart_is_tried():
    defaults = names_of(yaml.safe_load((CHART / "values.yaml").read_text()))
    tried = {name for name in defaults if value_at(EVERY_VALUE, name) is not None}
    assert defaults == tried


def value_at(values: Any, name: str) -> Any:
    for part in name.split("."):
        values = values.get(part) if isinstance(values, Mapping) else None
    return values


@needs_helm
def test_every_value_of_the_chart_has_its_effect_and_fits_the_schemas(tmp_path: Path):
    made = by_kind(rendered(tmp_path, EVERY_VALUE))
    check(made)
    template = made["StatefulSet", NAME]["spec"]["template"]
    pod = template["spec"]
    for name in ("imagePullSecrets", "nodeSelector", "tolerations", "affinity", "topologySpreadConstraints",
                 "priorityClassName"):  # fmt: skip
        assert pod[name] == EVERY_VALUE[name]
    assert pod["securityContext"]["runAsUser"] == 4000
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("mq", True)
    assert made["ServiceAccount", "mq"]["metadata"]["annotations"] == {"role": "mq"}
    assert template["metadata"]["labels"] == {"team": "mq", "app.kubernetes.io/name": NAME}
    annotations = template["metadata"]["annotations"]
    assert (annotations["sidecar"], annotations["prometheus.io/scheme"]) == ("off", "https")
    for service in (NAME, f"{NAME}-http"):
        metadata = made["Service", service]["metadata"]
        assert (metadata["annotations"]["dns"], metadata["labels"]["team"]) == ("on", "mq")
    (container,) = pod["containers"]
    assert container["securityContext"]["runAsNonRoot"] is True
    assert {each["name"] for each in container["env"]} >= {"ALICE", "NAMEKEEPER_TLS_SERVER_KEY_PASSWORD"}
    assert container["envFrom"] == EVERY_VALUE["extraEnvFrom"]
    assert EVERY_VALUE["extraVolumes"][0] in pod["volumes"]
    assert EVERY_VALUE["extraVolumeMounts"][0] in container["volumeMounts"]
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["scheme"] == "HTTPS"


@needs_helm
def test_certificates_and_rules_are_mounted_where_the_properties_say_and_no_file_stays_as_it_was(
    tmp_path: Path,
):
    made = by_kind(rendered(tmp_path, EVERY_VALUE))
    text = made["ConfigMap", NAME]["data"]["namesrv.properties"]
    config = make_startup(environment={}, file_data=text.encode()).runtime_config
    assert config.unknown == {}
    assert config.settings.journal_retention_bytes == 8_589_934_592
    assert config.settings.tls_server_mode == "enforcing"
    pod = made["StatefulSet", NAME]["spec"]["template"]["spec"]
    mounts = pod["containers"][0]["volumeMounts"]
    assert not any("subPath" in mount for mount in mounts)  # such a file is never renewed
    folders = {mount["mountPath"]: mount["name"] for mount in mounts}
    for path, volume in (
        (config.settings.tls_server_cert_path, "tls"), (config.settings.tls_server_key_path, "tls"),
        (config.settings.tls_server_trust_cert_path, "tls"), (config.settings.access_file, "access"),
    ):  # fmt: skip
        assert folders[str(Path(path).parent)] == volume
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes["tls"]["secret"] == {"secretName": "certificates", "defaultMode": 0o440}
    assert volumes["access"]["projected"]["defaultMode"] & 0o27 == 0  # the server refuses keys for others
    assert volumes["access"]["projected"]["sources"] == [
        {"configMap": {"name": "rules"}}, {"secret": {"name": "keys"}},
    ]  # fmt: skip


@needs_helm
@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"runAsUser": None, "runAsGroup": None, "fsGroup": None}, {"runAsNonRoot", "seccompProfile"}),
        (None, set()),
    ],
)
def test_security_contexts_can_be_unset_as_openshift_needs(tmp_path: Path, given: object, left: set[str]):
    made = by_kind(rendered(tmp_path, {"podSecurityContext": given, "containerSecurityContext": None}))
    check(made)
    pod = made["StatefulSet", NAME]["spec"]["template"]["spec"]
    assert set(pod.get("securityContext", {})) == left
    assert "securityContext" not in pod["containers"][0]


@needs_helm
def test_https_without_certificates_is_refused(tmp_path: Path):
    with pytest.raises(Exception, match=r"tls\.https needs tls\.existingSecret|non-zero exit status"):
        rendered(tmp_path, {"tls": {"https": True}})


def scraped_by(folder: Path, kind: str, **monitoring: object) -> dict[tuple[str, str], Manifest]:
    """The chart with its alerts, HTTPS and one kind of monitor, which has every field that the chart knows."""
    monitor = {"enabled": True, "interval": "15s", "tlsConfig": {"insecureSkipVerify": True}}
    value = kind[0].lower() + kind[1:]
    made = by_kind(rendered(folder, {
        "prometheusRule": True,
        "tls": {"existingSecret": "certificates", "https": True},
        "monitoring": {"labels": {"release": "prometheus"}, value: monitor, **monitoring},
    }))  # fmt: skip
    assert [each for each, _ in made if each in MONITORS] == [kind]
    return made


MONITORS = {"PodMonitor": "podMetricsEndpoints", "ServiceMonitor": "endpoints"}
"""Kind of monitor -> the field with its endpoints."""


@needs_helm
@needs_definitions
@pytest.mark.parametrize("kind", MONITORS)
def test_a_monitor_and_the_alerts_fit_the_definitions_of_the_operator(tmp_path: Path, kind: str):
    made = scraped_by(tmp_path, kind)
    operators = [manifest for (each, _), manifest in made.items() if each in operator_schema.KINDS]
    assert len(operators) == 2
    for manifest in operators:
        operator_schema.validate(manifest)
        assert manifest["metadata"]["labels"]["release"] == "prometheus"
    (endpoint,) = made[kind, NAME]["spec"][MONITORS[kind]]
    assert (endpoint["scheme"], endpoint["interval"]) == ("https", "15s")
    assert endpoint["tlsConfig"] == {"insecureSkipVerify": True}


@needs_helm
@needs_definitions
@pytest.mark.parametrize("kind", MONITORS)
@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("intervall", "30s", "'intervall' was unexpected"),
        ("interval", "half a minute", "does not match"),
        ("scheme", "ftp", "is not one of"),
        ("port", 9886, "is not of type 'string'"),
        ("relabelings", [{"targetLabel": "job", "replace": "mq"}], "'replace' was unexpected"),
        ("tlsConfig", {"insecure": True}, "'insecure' was unexpected"),
    ],
)
def test_a_monitor_that_the_operator_would_refuse_is_found(
    tmp_path: Path, kind: str, field: str, value: object, complaint: str
):
    monitor = scraped_by(tmp_path, kind)[kind, NAME]
    monitor["spec"][MONITORS[kind]][0][field] = value
    with pytest.raises(jsonschema.ValidationError, match=complaint):
        operator_schema.validate(monitor)


@needs_helm
def test_two_monitors_of_the_same_pods_are_refused(tmp_path: Path):
    both = {"podMonitor": {"enabled": True}, "serviceMonitor": {"enabled": True}}
    with pytest.raises(Exception, match=r"enable one of them|non-zero exit status"):
        rendered(tmp_path, {"monitoring": both})


@needs_helm
def test_a_service_monitor_scrapes_each_pod_once(tmp_path: Path):
    made = scraped_by(tmp_path, "ServiceMonitor")
    monitor = made["ServiceMonitor", NAME]["spec"]
    (endpoint,) = monitor["endpoints"]
    (kept,) = [each["regex"] for each in endpoint["relabelings"] if each.get("action") == "keep"]
    selected = [
        service["spec"]
        for (kind, name), service in made.items()
        if kind == "Service" and re.fullmatch(kept, name)
        and monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    ]  # fmt: skip
    (service,) = selected
    assert service["publishNotReadyAddresses"] is True  # a name server that is not ready is scraped, too
    assert endpoint["port"] in [port["name"] for port in service["ports"]]


@needs_helm
@needs_promtool
@pytest.mark.parametrize("kind", MONITORS)
@pytest.mark.parametrize("job", ["namekeeper", "mq-prod"])
def test_the_alerts_of_the_chart_select_what_its_monitor_scrapes(tmp_path: Path, job: str, kind: str):
    made = scraped_by(tmp_path, kind, job=job)
    (endpoint,) = made[kind, NAME]["spec"][MONITORS[kind]]
    labels = {
        each["targetLabel"]: each.get("replacement", "namekeeper-0")
        for each in endpoint["relabelings"]
        if "targetLabel" in each
    }
    assert labels == {"job": job, "instance": "namekeeper-0"}
    assert made[kind, NAME]["spec"]["selector"]["matchLabels"].items() <= (
        made["StatefulSet", NAME]["spec"]["template"]["metadata"]["labels"].items()
    )
    rules = tmp_path / "rules.yml"
    rules.write_text(yaml.safe_dump(made["PrometheusRule", NAME]["spec"]))
    inside = ",".join(f'{label}="{value}"' for label, value in labels.items())
    well = {
        f"up{{{inside}}}": f"1x{STEPS}",
        f"rocketmq_namesrv_ready{{{inside}}}": f"1x{STEPS}",
        f"rocketmq_namesrv_active_brokers{{{inside}}}": f"4x{STEPS}",
    }
    assert firing(tmp_path, {**well, f'up{{{inside.replace("namekeeper-0", "namekeeper-1")}}}': f"0x{STEPS}"},
                  "39m", rules=rules) == {"NamesrvGone": 1}  # fmt: skip
    other = {name.replace(job, "another"): values for name, values in well.items()}
    assert "NamesrvAllGone" in firing(tmp_path, other, "39m", rules=rules)  # the rule for absent metrics
