// Test data: values of the chart, one set for each way to install it.

import type { Values } from "./helm.ts";

const CENTRAL = {
  enabled: true,
  kubeconfigSecret: "isthmus-kubeconfigs",
  kubeconfigs: { east: "east.yaml", west: "west.yaml" },
};
const DASHBOARD = { enabled: true, tokenSecret: { name: "isthmus-dashboard-token" } };
const MONITORING = {
  podMonitor: { enabled: true, labels: { release: "prometheus" } },
  rules: { enabled: true, runbookUrl: "https://example.com/isthmus/runbook.md" },
  grafanaDashboard: { enabled: true },
};

/** All but monitoring, whose kinds a bare API server does not know. */
export const EVERYTHING: Values = {
  image: { digest: `sha256:${"0".repeat(64)}`, pullSecrets: [{ name: "registry" }] },
  agent: {
    replicas: 3,
    config: {
      namespaces: "create",
      allowNamespace: ["default"],
      denyNamespace: ["payments"],
      logLevel: "debug",
      dashboardAddress: "127.0.0.1:8181",
    },
    priorityClassName: "system-cluster-critical",
    nodeSelector: { "kubernetes.io/os": "linux" },
    tolerations: [{ operator: "Exists" }],
    podLabels: { team: "network" },
    podAnnotations: { note: "none" },
    extraEnv: [{ name: "HTTPS_PROXY", value: "http://proxy.example.com:3128" }],
  },
  hub: { enabled: true },
  dns: {
    enabled: true,
    ipFamilies: ["IPv4", "IPv6"],
    config: {
      headless: "near",
      rateLimit: 1_000_000,
      processes: "auto",
      zone: ["clusterset.local"],
    },
    service: { annotations: { note: "none" } },
  },
  dashboard: DASHBOARD,
  policies: { enabled: true, handmadeImports: "deny" },
  peopleRoles: { enabled: true },
};

export const SETS: Readonly<Record<string, Values>> = {
  default: {},
  hub: { agent: { enabled: false }, hub: { enabled: true } },
  central: {
    agent: { enabled: false },
    central: { ...CENTRAL, config: { installCrds: false, denyNamespace: ["payments"] } },
    policies: { enabled: true, controllerUsers: ["system:serviceaccount:isthmus:central"] },
  },
  "dns and dashboard": {
    dns: { enabled: true },
    dashboard: { ...DASHBOARD, config: { hub: false } },
  },
  everything: { ...EVERYTHING, monitoring: MONITORING },
};
