{{- define "plain.labels" -}}
app.kubernetes.io/name: plain
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
