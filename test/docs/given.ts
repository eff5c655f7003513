// Test tool: what the docs take for granted before their first command, as manifests: a cluster as kubeadm leaves it, somebody's
// services, and what the chart would have installed. There is no kubelet, so endpoints are written by hand.

const SERVICES = ["web", "a", "b", "checkout"];

function renderService(name: string, address: string): string {
  return `
apiVersion: v1
kind: Service
metadata: { namespace: shop, name: ${name} }
spec: { ports: [{ name: http, port: 80 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  namespace: shop
  name: ${name}-1
  labels: { kubernetes.io/service-name: ${name} }
addressType: IPv4
endpoints: [{ addresses: ["${address}"], conditions: { ready: true } }]
ports: [{ name: http, port: 80, protocol: TCP }]
`;
}

/** In every cluster. */
export function renderGiven(podRange: string): string {
  return `
apiVersion: v1
kind: Node
metadata: { name: node-1 }
spec: { podCIDR: ${podRange.replace("/16", "/24")}, podCIDRs: ["${podRange.replace("/16", "/24")}"] }
---
apiVersion: v1
kind: ConfigMap
metadata: { namespace: kube-system, name: kubeadm-config }
data:
  ClusterConfiguration: |
    networking:
      podSubnet: ${podRange}
---
apiVersion: v1
kind: Namespace
metadata: { name: shop }
`;
}

/** In the cluster that exports. */
export function renderShop(): string {
  const services = SERVICES.map((name, index) => renderService(name, `10.11.0.${index + 4}`));
  return [
    ...services,
    `
apiVersion: v1
kind: Namespace
metadata: { name: isthmus-system }
---
apiVersion: apps/v1
kind: Deployment
metadata: { namespace: isthmus-system, name: isthmus-agent }
spec:
  replicas: 2
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec: { containers: [{ name: agent, image: isthmus }] }
---
apiVersion: v1
kind: Service
metadata: { namespace: isthmus-system, name: isthmus-dns }
spec: { ports: [{ name: dns, port: 53, protocol: UDP }] }
---
apiVersion: v1
kind: ConfigMap
metadata: { namespace: kube-system, name: kube-dns }
`,
  ].join("---");
}
