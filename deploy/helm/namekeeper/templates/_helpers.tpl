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
