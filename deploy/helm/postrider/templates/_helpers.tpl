{{/* Names, labels and the pod, which both kinds of workload share. */}}
{{- define "postrider.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "postrider.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "postrider.labels" -}}
{{ include "postrider.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Not empty when there is a database. */}}
{{- define "postrider.storeSecret" -}}
{{- if .Values.store.existingSecret -}}
{{- .Values.store.existingSecret -}}
{{- else if .Values.store.url -}}
{{- include "postrider.name" . }}-store
{{- end -}}
{{- end -}}

{{- define "postrider.pod" -}}
metadata:
  labels:
    {{- include "postrider.labels" . | nindent 4 }}
  annotations:
    checksum/store: {{ .Values.store.url | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  # Kubernetes would set POSTRIDER_PORT to an address when the service is called postrider.
  enableServiceLinks: false
  automountServiceAccountToken: false
  # The pause before the stop, the drain, 10 s for a store that does not answer, and some room.
  terminationGracePeriodSeconds: {{ add .Values.drainSeconds 20 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: postrider
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: ["serve"]
      env:
        - name: POSTRIDER_DRAIN
          value: "{{ .Values.drainSeconds }}s"
        {{- if include "postrider.storeSecret" . }}
        - name: POSTRIDER_STORE
          valueFrom:
            secretKeyRef:
              name: {{ include "postrider.storeSecret" . }}
              key: {{ .Values.store.key }}
        {{- else }}
        # A folder of its own: the top of a volume may hold other files, and its rights are those of the volume.
        - name: POSTRIDER_DATA
          value: /data/postrider
        {{- end }}
        {{- if .Values.metrics.port }}
        - name: POSTRIDER_METRICS_PORT
          value: {{ .Values.metrics.port | quote }}
        {{- end }}
        {{- if .Values.metrics.existingSecret }}
        - name: POSTRIDER_METRICS_TOKEN
          valueFrom:
            secretKeyRef:
              name: {{ .Values.metrics.existingSecret }}
              key: {{ .Values.metrics.key }}
        {{- end }}
        {{- if .Values.adminToken.existingSecret }}
        - name: POSTRIDER_ADMIN_TOKEN
          valueFrom:
            secretKeyRef:
              name: {{ .Values.adminToken.existingSecret }}
              key: {{ .Values.adminToken.key }}
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      ports:
        - name: http
          containerPort: 8411
        {{- if .Values.metrics.port }}
        - name: metrics
          containerPort: {{ .Values.metrics.port }}
        {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: ["ALL"]
      startupProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 5
        failureThreshold: {{ div .Values.startupSecondsMax 5 }}
      livenessProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /readyz
          port: http
        periodSeconds: 2
        timeoutSeconds: 3
        failureThreshold: 2
      lifecycle:
        preStop:
          exec:
            # Until all proxies know that this pod leaves, it goes on accepting. There is no shell to sleep with.
            command: ["/usr/local/bin/node", "-e", "setTimeout(() => {}, 5000)"]
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
  {{- if include "postrider.storeSecret" . }}
  volumes:
    - name: data
      emptyDir: {}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
