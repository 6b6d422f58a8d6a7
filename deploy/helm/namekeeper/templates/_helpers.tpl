{{/* host:port;host:port of all name servers */}}
{{- define "namekeeper.addresses" -}}
{{- $addresses := list -}}
{{- range $number := until (int .Values.replicas) -}}
{{- $addresses = append $addresses (printf "%s-%d.%s:9876" $.Release.Name $number $.Release.Name) -}}
{{- end -}}
{{- join ";" $addresses -}}
{{- end -}}
