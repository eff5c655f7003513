// Test tool: commands of the docs that docsCommands.real.test.ts does not run, and why not. A command that is neither there nor here
// fails, and so does one here that the docs no longer have.

/** Run by another test, or what it does is. */
export const RUN_ELSEWHERE: Readonly<Record<string, string>> = {
  "npm install && npm run demo": "test/demo.test.ts",
  'isthmus completion zsh > "${fpath[1]}/_isthmus"': "test/completion.test.ts",
  "npm run build": "test/image/release.test.ts",
  "npm run build && sha256sum dist/*": "test/image/release.test.ts",
  "npm pack": "test/image/release.test.ts",
  "npm install --global ./isthmus-0.1.0.tgz": "test/image/release.test.ts",
  "npm run bench -- --from all.json dns.json --svg all.svg": "bench/run.test.ts",
  "npm run rootfs": "test/image/image.real.test.ts",
  "npm run rootfs -- --into /tmp/rootfs": "test/image/image.real.test.ts",
  "tar --sort=name --owner=0 --group=0 --numeric-owner -C /tmp/rootfs -c . | sha256sum":
    "test/image/image.real.test.ts",
};

/** Reason to commands. */
export const NOT_RUN: Readonly<Record<string, readonly string[]>> = {
  "it is what runs the tests, or comes before them": [
    "npm install",
    "npm install && npm test",
    "npm test",
    "npm run test:fast",
    "ISTHMUS_DATAPLANE_TABLE=table.md npm run test:dataplane",
  ],
  "it works on the sources themselves": [
    "npm run check",
    "npm run fix",
    "npm run generate",
    "npm run manifests",
  ],
  "it measures, which takes a machine of its own": [
    "npm run bench",
    "npm run bench -- --quick change cold",
    "npm run bench -- --rounds 1 cold",
    "npm run bench -- --json all.json --svg all.svg",
    "npm run simulate:scale -- --clusters 20 --services 400",
    "npm run simulate:scale -- --clusters 250 --services 5000 --endpoints 100 --spread 5 --seed 1",
  ],
  "it needs a container engine": [
    "podman build --platform linux/amd64,linux/arm64 --manifest isthmus .",
    "docker buildx build --file Containerfile --platform linux/amd64,linux/arm64 --tag isthmus .",
    "podman build --platform linux/amd64 --tag registry.example.com/isthmus:0.1.0 .",
    "podman push registry.example.com/isthmus:0.1.0",
    ...["east 10.11.0.0/16 10.101.0.0/16", "west 10.12.0.0/16 10.102.0.0/16"].map((line) => {
      const [name, pods, services] = line.split(" ");
      return [
        `kind create cluster --name ${name} --config - <<YAML`,
        "kind: Cluster",
        "apiVersion: kind.x-k8s.io/v1alpha4",
        `networking: { podSubnet: ${pods}, serviceSubnet: ${services} }`,
        "YAML",
      ].join("\n");
    }),
    "docker exec east-control-plane ip route add 10.12.0.0/16 via \"$(docker inspect -f '{{.NetworkSettings.Networks.kind.IPAddress}}' west-control-plane)\"",
    "docker exec west-control-plane ip route add 10.11.0.0/16 via \"$(docker inspect -f '{{.NetworkSettings.Networks.kind.IPAddress}}' east-control-plane)\"",
    "kind load docker-image registry.example.com/isthmus:0.1.0 --name east",
    "kind load docker-image registry.example.com/isthmus:0.1.0 --name west",
  ],
  "it needs an account in a cloud": [
    "aws eks describe-cluster --name east --query cluster.kubernetesNetworkConfig.serviceIpv4Cidr",
    "aws ec2 describe-subnets --filters Name=vpc-id,Values=vpc-0123456789 --query 'Subnets[].CidrBlock'",
    "aws eks update-addon --cluster-name east --addon-name coredns --resolve-conflicts PRESERVE --configuration-values file://coredns.json",
    "gcloud container clusters describe east --location europe-west1 --format='value(clusterIpv4Cidr,servicesIpv4Cidr)'",
    "gcloud compute firewall-rules create isthmus-pods --network default --allow tcp,udp,icmp --source-ranges 10.11.0.0/16,10.12.0.0/16",
  ],
  "it needs Helm, with which test/chartInstall.real.test.ts does the same": [
    "helm install isthmus charts/isthmus --namespace isthmus-system --create-namespace --set image.repository=registry.example.com/isthmus",
    "helm uninstall isthmus --namespace isthmus-system",
    "helm install isthmus charts/isthmus --kubeconfig east.yaml --namespace isthmus-system --create-namespace --set image.repository=registry.example.com/isthmus",
    "helm upgrade isthmus charts/isthmus --kubeconfig east.yaml --namespace isthmus-system --reuse-values --set dns.enabled=true",
    "helm uninstall isthmus --kubeconfig east.yaml --namespace isthmus-system",
  ],
  "it needs a collector, with which test/traces.test.ts does the same": [
    "isthmus agent --traces-endpoint http://collector.observability:4318",
  ],
  "it needs pods that run: there is no kubelet": [
    "kubectl --kubeconfig west.yaml -n shop run ask --rm -i --restart=Never --image=curlimages/curl -- curl -sS http://web.shop.svc.clusterset.local",
    "kubectl -n isthmus-system port-forward deployment/isthmus-agent 8181:8181",
  ],
};
