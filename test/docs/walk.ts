// Test tool: the commands of the docs that three real clusters can run, in the order in which a reader would come to them. Only data:
// docsCommands.real.test.ts runs it, and docsCommands.test.ts holds it to the docs. east, west and edge are contexts of the reader's
// kubeconfig, east the current one; edge is also the hub. No kubelet runs: what is deployed is there and does nothing.

export interface Step {
  /** As it stands in the docs, but for `filled`. */
  readonly command: string;
  /** What a reader has to put in: for placeholders, and for ports and addresses that somebody else on this machine may have. */
  readonly filled?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the docs have it. Absent: yes. What they do not have is what they take for granted, or say in words. */
  readonly isAside?: true;
  /** How it has to end. Absent: 0. */
  readonly code?: number;
  /** What it has to print, on either output. */
  readonly prints?: RegExp;
  /** It shows what others do by themselves: run again until it is as it should be. */
  readonly isAwaited?: true;
  /** It runs until it is ended: now, or before a quiet story. It has to print `prints` before. */
  readonly lasts?: "shortly" | "on";
}

export interface Story {
  readonly title: string;
  /** What still runs is ended before. */
  readonly beginsQuiet?: true;
  readonly steps: readonly Step[];
}

const TOKEN = { "isthmus1.…": '"$(cat join.token)"' };
const FREE_PORT = { ISTHMUS_METRICS_ADDRESS: "127.0.0.1:0" };
const FREE_PAGE = { ISTHMUS_ADDRESS: "127.0.0.1:0" };
const ANY_PAGE = { "127.0.0.1:8181": "127.0.0.1:0" };
/** A kubeconfig of its own: the docs change the current user in it. */
const AGENTS_CONFIG = { KUBECONFIG: "agent.yaml" };
const ON_HUB = { KUBECONFIG: "hub.yaml" };
const IN_WEST = { KUBECONFIG: "west.yaml" };
const ALL = "--context edge --context east --context west";

const THE_COMMAND: Story = {
  title: "the command, before there is a cluster",
  steps: [
    { command: 'ln -s "$PWD/dist/isthmus.mjs" ~/.local/bin/isthmus' },
    { command: 'ln -s "$PWD/dist/isthmus.mjs" ~/.local/bin/kubectl-isthmus' },
    { command: "source <(isthmus completion bash)" },
    { command: "isthmus completion fish > ~/.config/fish/completions/isthmus.fish" },
    { command: "isthmus config agent --config isthmus.yaml", prints: /isthmus\.yaml/ },
    {
      command: "isthmus config dns --config isthmus.yaml --processes auto -o yaml",
      prints: /processes: auto/,
    },
    {
      command: "isthmus config central --config isthmus.yaml --context east --context west -o json",
      prints: /"central\.metricsAddress"/,
    },
    { command: "isthmus config dashboard", prints: /127\.0\.0\.1:8181/ },
    { command: "isthmus policy print", prints: /ValidatingAdmissionPolicy/ },
  ],
};

const MEMBERSHIP: Story = {
  title: "from nothing to members with agents",
  steps: [
    {
      command: "isthmus check --kubeconfig east.yaml --kubeconfig west.yaml",
      code: 1,
      prints: /crds-installed/,
    },
    {
      command: "kubectl --kubeconfig east.yaml -n kube-system get configmap kubeadm-config -o yaml",
      prints: /podSubnet/,
    },
    {
      command:
        "kubectl --kubeconfig east.yaml get nodes -o custom-columns=NODE:.metadata.name,PODS:.spec.podCIDRs",
      prints: /10\.11\.0\.0\/24/,
    },
    {
      command:
        "sed 's#image: isthmus:#image: registry.example.com/isthmus:#' manifests/agent.yaml | kubectl apply --server-side -f -",
      env: IN_WEST,
      prints: /isthmus-agent serverside-applied/,
    },
    {
      command:
        "isthmus hub init --kubeconfig hub.yaml --server https://hub.example.com:6443 --no-token",
      filled: { "https://hub.example.com:6443": "$HUB_URL" },
      prints: /created/,
    },
    {
      command: "isthmus hub token --kubeconfig hub.yaml --ttl 1h --uses 2 -o token > join.token",
    },
    {
      command:
        "isthmus join --kubeconfig east.yaml --token @join.token --cluster-id east --pod-cidr 10.11.0.0/16",
      prints: /east is a member/,
    },
    {
      command:
        "isthmus join --kubeconfig west.yaml --token @join.token --cluster-id west --pod-cidr 10.12.0.0/16",
      prints: /west is a member/,
    },
    {
      command: "npm run isthmus -- hub init --kubeconfig hub.yaml",
      prints: /isthmus join --token/,
    },
    { command: "isthmus hub init --kubeconfig hub.yaml", prints: /isthmus join --token/ },
    {
      command:
        "npm run isthmus -- join --kubeconfig east.yaml --token isthmus1.… --cluster-id east",
      filled: TOKEN,
      prints: /east is a member/,
    },
    {
      command: "isthmus join --token isthmus1.… --cluster-id east",
      filled: TOKEN,
      prints: /east is a member/,
    },
    {
      command:
        'isthmus join --context edge --cluster-id edge --hub-kubeconfig hub.yaml --hub-server "$HUB_URL"',
      isAside: true,
      prints: /edge is a member/,
    },
    { command: "cp ~/.kube/config agent.yaml", isAside: true },
    {
      command:
        'kubectl config set-credentials isthmus-agent --token "$(kubectl -n isthmus-system create token isthmus-agent --duration 8h)"',
      env: AGENTS_CONFIG,
    },
    { command: "kubectl config set-context --current --user isthmus-agent", env: AGENTS_CONFIG },
    {
      command: "npm run isthmus -- agent --kubeconfig east.yaml",
      env: FREE_PORT,
      lasts: "shortly",
      prints: /agent starts/,
    },
    {
      command: "isthmus agent",
      env: { ...FREE_PORT, ...AGENTS_CONFIG },
      lasts: "on",
      prints: /agent starts/,
    },
    {
      command: "isthmus agent --context west",
      env: FREE_PORT,
      isAside: true,
      lasts: "on",
      prints: /agent starts/,
    },
    {
      command: "isthmus agent --context edge",
      env: FREE_PORT,
      isAside: true,
      lasts: "on",
      prints: /agent starts/,
    },
    {
      command: "isthmus agent --dashboard-address 127.0.0.1:8181",
      filled: ANY_PAGE,
      env: FREE_PORT,
      lasts: "shortly",
      prints: /dashboard is served/,
    },
    {
      command: "ISTHMUS_CONFIG=isthmus.yaml ISTHMUS_LOG_LEVEL=debug isthmus agent",
      env: FREE_PORT,
      lasts: "shortly",
      prints: /agent starts/,
    },
    {
      command: "kubectl get clustermembers,serviceshares -A",
      env: ON_HUB,
      prints: /isthmus-member-east/,
    },
    {
      command:
        "kubectl get leases -n isthmus-hub -o custom-columns=CLUSTER:.metadata.name,HEARD:.spec.renewTime",
      env: ON_HUB,
      prints: /^west +\d{4}-/m,
    },
  ],
};

const DNS: Story = {
  title: "the cluster's DNS, there and back",
  steps: [
    { command: "isthmus dns enable --kubeconfig east.yaml --dry-run", prints: /multicluster/ },
    { command: "isthmus dns enable --kubeconfig east.yaml -o yaml", prints: /kind: ConfigMap/ },
    { command: "isthmus dns enable --kubeconfig east.yaml", prints: /coredns/ },
    { command: "isthmus dns disable", prints: /coredns/ },
    { command: "isthmus dns enable --dry-run", prints: /multicluster/ },
    { command: "isthmus dns enable --server 10.96.0.53", prints: /coredns/ },
    { command: "isthmus dns disable --kubeconfig east.yaml", prints: /coredns/ },
    { command: "isthmus dns enable", prints: /coredns/ },
    {
      command: `kubectl --kubeconfig east.yaml -n kube-system patch configmap kube-dns --type merge -p '{"data":{"stubDomains":"{\\"clusterset.local\\":[\\"10.101.0.53\\"]}"}}'`,
      prints: /patched/,
    },
    {
      command:
        "kubectl --kubeconfig east.yaml -n isthmus-system get service isthmus-dns -o jsonpath={.spec.clusterIP}",
      prints: /\d+\.\d+\.\d+\.\d+/,
    },
    { command: "kubectl apply -f examples/rbac.yaml", isAside: true },
    { command: "kubectl create serviceaccount isthmus-dns -n isthmus-system" },
    {
      command:
        "kubectl create clusterrolebinding isthmus-dns-server --clusterrole=isthmus-dns-server --serviceaccount=isthmus-system:isthmus-dns",
    },
  ],
};

const SERVICES: Story = {
  title: "services: exported, looked at, explained",
  steps: [
    {
      command: "isthmus check --kubeconfig east.yaml --kubeconfig west.yaml --wait",
      prints: /Nothing fails/,
    },
    { command: "isthmus check", prints: /Nothing fails/ },
    { command: "isthmus check --context east --context west -o short" },
    { command: "isthmus check --wait --timeout 2m", prints: /Nothing fails/ },
    { command: "isthmus check -o short --wait" },
    { command: "isthmus export web -n shop --dry-run", prints: /when east exports it/ },
    { command: "isthmus export web -n shop --kubeconfig east.yaml --wait", prints: /exported/ },
    { command: "isthmus export web -n shop --wait" },
    { command: "isthmus export shop/a shop/b", prints: /shop\/b: exported/ },
    {
      command:
        "kubectl -n shop create -f - <<YAML\napiVersion: multicluster.x-k8s.io/v1beta1\nkind: ServiceExport\nmetadata: { name: checkout }\nYAML",
      prints: /created/,
    },
    {
      command: "kubectl -n shop get serviceimport checkout",
      isAwaited: true,
      prints: /ClusterSetIP +\["?\d/,
    },
    {
      command:
        "kubectl -n shop get endpointslices -l multicluster.kubernetes.io/service-name=checkout",
      isAwaited: true,
      prints: /10\.11\.0\.\d/,
    },
    {
      command: "kubectl -n shop get serviceexport checkout -o yaml",
      isAwaited: true,
      prints: /reason: Exported/,
    },
    {
      command: "isthmus explain web -n shop --kubeconfig east.yaml --kubeconfig west.yaml",
      isAwaited: true,
      prints: /in west/,
    },
    { command: "isthmus explain shop/web", isAwaited: true, prints: /export in east/ },
    { command: "isthmus explain web -n shop", isAwaited: true, prints: /export in east/ },
    { command: "isthmus status", isAwaited: true },
    { command: "isthmus get exports -A", prints: /checkout/ },
    { command: "isthmus top", prints: /web/ },
    { command: "isthmus simulate --without east", code: 1, prints: /gone/ },
    { command: "kubectl -n shop annotate serviceexport web isthmus.dev/when-lost=keep" },
    {
      command: "isthmus gather -f problem.tar.gz --kubeconfig east.yaml --kubeconfig west.yaml",
      prints: /problem\.tar\.gz/,
    },
    { command: "isthmus dashboard", env: FREE_PAGE, lasts: "shortly", prints: /http:\/\/127/ },
    {
      command: "isthmus dashboard --kubeconfig east=east.yaml --kubeconfig west=west.yaml",
      env: FREE_PAGE,
      lasts: "shortly",
      prints: /http:\/\/127/,
    },
    {
      command: "isthmus dns --kubeconfig east.yaml",
      env: { ...FREE_PORT, ISTHMUS_LISTEN: "127.0.0.1:$PORT_1" },
      lasts: "on",
      prints: /dns server starts/,
    },
    {
      command: "dig @127.0.0.1 -p 1053 web.shop.svc.clusterset.local",
      filled: { "1053": "$PORT_1" },
      isAwaited: true,
      prints: /^web\.shop\.svc\.clusterset\.local\.\s+5\s+IN\s+A\s/m,
    },
    {
      command: "isthmus dns --config isthmus.yaml --listen 0.0.0.0:53",
      filled: { "0.0.0.0:53": "127.0.0.1:$PORT_2" },
      env: { ...FREE_PORT, ISTHMUS_LOG_LEVEL: "info" },
      lasts: "shortly",
      prints: /dns server starts/,
    },
    {
      command: "isthmus dns --listen 0.0.0.0:53 --listen '[::]:53' --processes auto",
      filled: { "0.0.0.0:53": "127.0.0.1:$PORT_2", "'[::]:53'": '"[::1]:$PORT_2"' },
      env: FREE_PORT,
      lasts: "shortly",
      prints: /dns server starts/,
    },
  ],
};

const GUARDS: Story = {
  title: "policies and maintenance",
  steps: [
    { command: "isthmus policy install --kubeconfig east.yaml", prints: /created/ },
    {
      command:
        "kubectl --as=admin --as-group=system:masters --as-group=isthmus.dev:break-glass -n shop delete service derived-…",
      filled: {
        "derived-…": '"$(kubectl -n shop get services -o name | grep -m1 -o derived-.*)"',
      },
      prints: /deleted/,
    },
    { command: "isthmus policy remove --kubeconfig east.yaml", prints: /removed/ },
    { command: "isthmus policy remove" },
    { command: `isthmus drain edge ${ALL} --dry-run`, prints: /^shop +web/m },
    {
      command: "kubectl --context edge apply --server-side -f <(isthmus drain edge -o yaml)",
      prints: /serverside-applied/,
    },
    { command: `isthmus drain edge ${ALL} --reason "new kernel" --wait`, prints: /edge/ },
    { command: `isthmus undrain edge ${ALL} --wait`, isAside: true },
  ],
};

const LEAVING: Story = {
  title: "away with it",
  beginsQuiet: true,
  steps: [
    {
      command:
        "kubectl --kubeconfig east.yaml -n isthmus-system scale deployment isthmus-agent --replicas 0",
      prints: /scaled/,
    },
    { command: "isthmus leave --kubeconfig east.yaml", prints: /east/ },
    {
      command: "kubectl -n isthmus-system scale deployment isthmus-agent --replicas 0",
      env: IN_WEST,
      prints: /scaled/,
    },
    { command: "isthmus leave", env: IN_WEST, prints: /west/ },
  ],
};

const NAMED = (id: string): string => `kubectl --context ${id} apply -f - <<YAML
apiVersion: about.k8s.io/v1beta1
kind: ClusterProperty
metadata: { name: cluster.clusterset.k8s.io }
spec: { value: ${id} }
YAML`;

const CENTRAL: Story = {
  title: "central mode instead",
  steps: [
    { command: NAMED("east"), isAside: true },
    { command: NAMED("west"), isAside: true },
    { command: "kubectl create namespace isthmus" },
    { command: "kubectl create serviceaccount central -n isthmus" },
    {
      command:
        "kubectl create clusterrolebinding isthmus-central --clusterrole=isthmus-central --serviceaccount=isthmus:central",
    },
    {
      command:
        "kubectl create clusterrolebinding isthmus-central-crds --clusterrole=isthmus-central-crds --serviceaccount=isthmus:central",
    },
    { command: "kubectl create token central -n isthmus --duration=8760h", prints: /^ey/m },
    {
      command: "npm run isthmus -- central --kubeconfig east=east.yaml --kubeconfig west=west.yaml",
      env: FREE_PORT,
      lasts: "shortly",
      prints: /central starts/,
    },
    {
      command: "isthmus central --kubeconfig east=east.yaml --kubeconfig west=west.yaml",
      env: FREE_PORT,
      lasts: "shortly",
      prints: /central starts/,
    },
    {
      command: "isthmus central --context east --context west",
      env: FREE_PORT,
      lasts: "shortly",
      prints: /central starts/,
    },
    {
      command: "isthmus central --context east --context west --dashboard-address 127.0.0.1:8181",
      filled: ANY_PAGE,
      env: FREE_PORT,
      lasts: "on",
      prints: /dashboard is served/,
    },
    {
      command: "kubectl --context west -n shop get serviceimport web",
      isAside: true,
      isAwaited: true,
      prints: /ClusterSetIP/,
    },
  ],
};

const EMBEDDED: Story = {
  title: "an embedded cluster",
  steps: [
    {
      command: "npm run isthmus -- embedded --port 6443 --kubeconfig embedded.yaml",
      filled: { "6443": "$PORT_3" },
      lasts: "on",
      prints: /Ctrl-C ends it/,
    },
    { command: "kubectl --kubeconfig embedded.yaml get all -A", prints: /service\/kubernetes/ },
  ],
};

export const WALK: readonly Story[] = [
  THE_COMMAND,
  MEMBERSHIP,
  DNS,
  SERVICES,
  GUARDS,
  LEAVING,
  CENTRAL,
  EMBEDDED,
];
