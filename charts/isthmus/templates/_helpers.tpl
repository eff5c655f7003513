{{- /* Whose an object is. Helm itself adds the label that it manages it. */ -}}
{{- define "isthmus.labels" -}}
app.kubernetes.io/name: isthmus
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "isthmus.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- /* Of the container: it writes nothing and needs no capability (docs/image.md). */ -}}
{{- define "isthmus.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
readOnlyRootFilesystem: true
{{- end }}

{{- define "isthmus.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- /* Where pods run: the component, and its values. Pods of one component keep apart from each other. */ -}}
{{- define "isthmus.scheduling" -}}
{{- $selector := dict "matchLabels" (include "isthmus.selector" (index . 0) | fromYaml) -}}
{{- $values := index . 1 -}}
{{- $pod := dict -}}
{{- range list "affinity" "nodeSelector" "priorityClassName" "tolerations" -}}
{{- if get $values . }}{{ $_ := set $pod . (get $values .) }}{{ end -}}
{{- end -}}
{{- range $values.topologySpreadConstraints -}}
{{- $constraint := merge (deepCopy .) (dict "labelSelector" $selector) -}}
{{- $_ := set $pod "topologySpreadConstraints" (append (get $pod "topologySpreadConstraints" | default list) $constraint) -}}
{{- end -}}
{{- if $pod }}{{ toYaml $pod }}{{ end -}}
{{- end }}

{{- define "isthmus.selector" -}}
app.kubernetes.io/name: isthmus
app.kubernetes.io/component: {{ . }}
{{- end }}

{{- /* What one command is told, as its configuration file. Settings of the chart win. */ -}}
{{- define "isthmus.agentConfig" -}}
{{- merge (dict "metricsAddress" ":9402") .Values.agent.config | toYaml -}}
{{- end }}

{{- define "isthmus.centralConfig" -}}
{{- $kubeconfigs := list -}}
{{- range $id, $key := .Values.central.kubeconfigs -}}
{{- $kubeconfigs = append $kubeconfigs (printf "%s=/etc/isthmus/kubeconfigs/%s" $id $key) -}}
{{- end -}}
{{- merge (dict "metricsAddress" ":9402" "kubeconfig" $kubeconfigs) .Values.central.config | toYaml -}}
{{- end }}

{{- define "isthmus.dnsConfig" -}}
{{- $listen := list -}}
{{- if has "IPv4" .Values.dns.ipFamilies }}{{ $listen = append $listen "0.0.0.0:1053" }}{{ end -}}
{{- if has "IPv6" .Values.dns.ipFamilies }}{{ $listen = append $listen "[::]:1053" }}{{ end -}}
{{- merge (dict "metricsAddress" ":9403" "listen" $listen) .Values.dns.config | toYaml -}}
{{- end }}

{{- define "isthmus.dashboardConfig" -}}
{{- $file := printf "/etc/isthmus/token/%s" .Values.dashboard.tokenSecret.key -}}
{{- merge (dict "address" ":8181" "tokenFile" $file) .Values.dashboard.config | toYaml -}}
{{- end }}

{{- /* Pods are replaced when their settings change, but for the level of the log, which they follow by themselves. */ -}}
{{- define "isthmus.configChecksum" -}}
{{- omit (fromYaml .) "logLevel" | toJson | sha256sum -}}
{{- end }}

{{- /*
Whether a definition is written: not over one that is newer, by the release that its maker numbers it with.
Name, owner of the numbers, release, revision. Without a cluster to look at it always is.
*/ -}}
{{- define "isthmus.mayInstallCrd" -}}
{{- $there := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" (index . 0) -}}
{{- $labels := dig "metadata" "labels" dict $there -}}
{{- $release := get $labels (printf "%s/release-version" (index . 1)) -}}
{{- $revision := get $labels (printf "%s/crd-schema-revision" (index . 1)) -}}
{{- $order := -1 -}}
{{- if regexMatch "^v?[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?$" $release -}}
{{- $order = (semver $release).Compare (semver (index . 2)) -}}
{{- end -}}
{{- if eq $order 0 -}}
{{- $order = sub (int $revision) (int (index . 3)) -}}
{{- end -}}
{{- le (int $order) 0 -}}
{{- end }}

{{- /* Of the policies, as texts of CEL. The root, and what is denied unless somebody says otherwise. */ -}}
{{- define "isthmus.deniedNamespaces" -}}
{{- $values := (index . 0).Values -}}
{{- $config := ternary $values.central.config $values.agent.config $values.central.enabled -}}
{{- $denied := concat (index . 1) ($config.denyNamespace | default list) | uniq -}}
{{- $texts := list -}}
{{- range $denied -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" .) -}}
{{- fail (printf "%q in denyNamespace is no name of a namespace. Correct it." .) -}}
{{- end -}}
{{- if not (has . ($config.allowNamespace | default list)) -}}
{{- $texts = append $texts (squote .) -}}
{{- end -}}
{{- end -}}
{{- join ", " $texts -}}
{{- end }}

{{- define "isthmus.controllerUsers" -}}
{{- $texts := list -}}
{{- range .Values.policies.controllerUsers | default (list "system:serviceaccount:isthmus-system:isthmus-agent") -}}
{{- $texts = append $texts (squote .) -}}
{{- end -}}
{{- join ", " $texts -}}
{{- end }}
