"""The schemas of the Prometheus operator's resources, as a cluster checks them with unknown fields refused."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[2]
DEFINITIONS = ROOT / "build" / "crds"
KINDS = ("PodMonitor", "PrometheusRule", "ServiceMonitor")

needs_definitions = pytest.mark.skipif(
    not (DEFINITIONS / ".made").exists(), reason="there are no custom resource definitions (make crds)"
)


def validate(manifest: dict[str, Any]) -> None:
    """Validate a resource of the operator by the definition of its kind.

    Raises:
        jsonschema.ValidationError: a field is missing, unknown, or has a value that the operator does not take.
    """
    plural = f"{manifest['kind'].lower()}s"
    definition = yaml.safe_load((DEFINITIONS / f"monitoring.coreos.com_{plural}.yaml").read_text())["spec"]
    (schema,) = [
        version["schema"]["openAPIV3Schema"]
        for version in definition["versions"]
        if manifest["apiVersion"] == f"{definition['group']}/{version['name']}"
    ]
    schema["properties"].pop(
        "metadata"
    )  # the API server's own; the definition only says that it is an object
    jsonschema.validate(
        {name: value for name, value in manifest.items() if name != "metadata"},
        strict(schema),
        jsonschema.Draft202012Validator,
    )


def strict(schema: Any) -> Any:
    """The same schema, in which an object has only the fields that it names."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: strict(part) for name, part in schema.items()}
    if isinstance(pattern := made.get("pattern"), str) and "(?i)" in pattern:
        made["pattern"] = "(?i)" + pattern.replace(
            "(?i)", ""
        )  # Python takes it at the start only, Go anywhere
    if isinstance(made.get("properties"), dict) and "type" in made:
        made.setdefault("additionalProperties", False)
    return made
