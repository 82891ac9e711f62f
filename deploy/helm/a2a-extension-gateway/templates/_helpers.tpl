{{- define "gateway.name" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: a2a-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "gateway.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gateway.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}{{ .Values.serviceAccount.name | default (include "gateway.name" .) }}{{- else -}}{{ .Values.serviceAccount.name | default "default" }}{{- end -}}
{{- end -}}

{{- /* Namespaces whose Services config.agentSources watches with the service account of the gateway, separated by spaces; empty for none. */ -}}
{{- define "gateway.watched" -}}
{{- $names := list -}}
{{- range .Values.config.agentSources -}}
{{- $cluster := .kubernetes | default dict -}}
{{- if and $cluster (not $cluster.api) -}}{{- $names = concat $names $cluster.namespaces -}}{{- end -}}
{{- end -}}
{{- $names | uniq | join " " -}}
{{- end -}}

{{- /* The port of config.server.listen. */ -}}
{{- define "gateway.port" -}}
{{- dig "server" "listen" "0.0.0.0:8080" .Values.config | toString | regexFind "[0-9]+$" | default "8080" -}}
{{- end -}}

{{- /* The port of config.server.grpc.listen; empty without one. */ -}}
{{- define "gateway.grpcPort" -}}
{{- dig "server" "grpc" "listen" "" .Values.config | default "" | toString | regexFind "[0-9]+$" -}}
{{- end -}}

{{- /* Whole seconds of config.server.drainTimeout, rounded up. */ -}}
{{- define "gateway.drainSeconds" -}}
{{- $text := dig "server" "drainTimeout" "20s" .Values.config | toString -}}
{{- $number := regexFind "^[0-9]+" $text | default "20" | int -}}
{{- $unit := regexFind "[a-z]+$" $text -}}
{{- if eq $unit "ms" -}}{{ ceil (divf $number 1000) | int }}
{{- else if eq $unit "m" -}}{{ mul $number 60 }}
{{- else if eq $unit "h" -}}{{ mul $number 3600 }}
{{- else -}}{{ $number }}{{- end -}}
{{- end -}}
