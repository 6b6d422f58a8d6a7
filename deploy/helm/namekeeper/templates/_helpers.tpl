{{/* names by which browsers may open the operators' page: of the pods, of the service, and those of the values */}}
{{- define "namekeeper.hostNames" -}}
{{- $names := list -}}
{{- range $number := until (int .Values.replicas) -}}
{{- $names = append $names (printf "%s-%d.%s" $.Release.Name $number $.Release.Name) -}}
{{- end -}}
{{- $names = append $names (printf "%s-http" .Release.Name) -}}
{{- join ";" (concat $names .Values.httpHostNames) -}}
{{- end -}}
{{/* host:port;host:port of all name servers */}}
{{- define "namekeeper.addresses" -}}
{{- $addresses := list -}}
{{- range $number := until (int .Values.replicas) -}}
{{- $addresses = append $addresses (printf "%s-%d.%s:9876" $.Release.Name $number $.Release.Name) -}}
{{- end -}}
{{- join ";" $addresses -}}
{{- end -}}
{{/* labels and annotations of both services */}}
{{- define "namekeeper.serviceMetadata" -}}
labels:
  app.kubernetes.io/name: {{ .Release.Name }}
  {{- with omit .Values.service.labels "app.kubernetes.io/name" }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.service.annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
{{/* the value of a property: Helm reads large integers of a values file as floats */}}
{{- define "namekeeper.property" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}
{{/* whether there are files of access rules */}}
{{- define "namekeeper.hasAccess" -}}
{{- if or .Values.access.existingConfigMap .Values.access.existingSecret }}true{{ end -}}
{{- end -}}
{{/* name and labels of what the Prometheus operator reads */}}
{{- define "namekeeper.monitoringMetadata" }}
metadata:
  name: {{ .Release.Name }}
  labels:
    app.kubernetes.io/name: {{ .Release.Name }}
    {{- with .Values.monitoring.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
{{/* how a monitor scrapes a pod: of the chart and the monitor's values */}}
{{- define "namekeeper.endpoint" -}}
{{- $chart := index . 0 }}
{{- $monitor := index . 1 -}}
port: http
path: /metrics
interval: {{ $monitor.interval }}
{{- if $chart.Values.tls.https }}
scheme: https
{{- end }}
{{- with $monitor.tlsConfig }}
tlsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
relabelings:
  # The alerts select this job.
  - {targetLabel: job, replacement: {{ $chart.Values.monitoring.job | quote }}}
  # The pod's name stays when the pod moves.
  - {sourceLabels: [__meta_kubernetes_pod_name], targetLabel: instance}
{{- end -}}
