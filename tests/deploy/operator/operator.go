// Package operator names the types of the Prometheus operator, so that its custom resource definitions can be made of
// them by the tool with which the operator makes its own (make crds).
package operator

import _ "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
