// What we make of Corefiles of every form, given to a real CoreDNS: it has to start with them, answer the clusterset zone and
// leave everything else as it was. Our reader of Corefiles is held to CoreDNS's own this way.

import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { MEMBER_CRDS } from "../../src/api/crds.ts";
import { installCrds } from "../../src/controllers/crd.ts";
import { disableZone, enableZone } from "../../src/dns/corefile.ts";
import { createClient, type KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { loadKubeconfig } from "../../src/kube/config.ts";
import { type RealCluster, startCluster } from "../controlplane/cluster.ts";
import { startCoreDns } from "../controlplane/coredns.ts";
import { askOnce } from "./ask.ts";
import { createWeb, denies } from "./kubeadm.ts";

const TIMEOUT_MS = 180_000;
const WEB = "web.shop.svc.clusterset.local";

let cluster: RealCluster;
let store: KubeClient;

beforeAll(async () => {
  cluster = await startCluster({ name: "corefile", controllerManager: false });
  const paths = [cluster.kubeconfigPath];
  const config = loadKubeconfig({ paths, env: {}, home: "/nonexistent" });
  store = createClient(config, { clock: systemClock });
  await installCrds({ store, crds: MEMBER_CRDS, clock: systemClock });
  await createWeb(store);
}, TIMEOUT_MS);
afterAll(async () => {
  await store?.close();
  await cluster?.stop();
}, TIMEOUT_MS);

/** PORT and CONFIG are filled in; what answers elsewhere.test shows that other blocks are untouched. */
const FORMS: Readonly<Record<string, string>> = {
  "one block for everything": `.:PORT {
    bind 127.0.0.1
    kubernetes cluster.local {
        kubeconfig CONFIG
    }
    template IN A elsewhere.test {
        answer "elsewhere.test. 5 IN A 10.0.0.1"
    }
}
`,
  "blocks by zone, and no line break at the end": `.:PORT {
  bind 127.0.0.1
  template IN A elsewhere.test {
    answer "elsewhere.test. 5 IN A 10.0.0.1" # a "remark { with quotes
  }
}
cluster.local:PORT {
  bind 127.0.0.1
  kubernetes cluster.local {
    kubeconfig CONFIG
  }
}`,
  "a plugin that has its zones from its block's keys": `cluster.local:PORT, elsewhere.test:PORT,
dns://in-addr.arpa:PORT {
\tbind 127.0.0.1
\ttemplate IN A elsewhere.test {
\t\tanswer "elsewhere.test. 5 IN A 10.0.0.1"
\t}
\tkubernetes { # { not a brace
\t\tkubeconfig "CONFIG"
\t\tfallthrough elsewhere.test
\t}
}
`,
  snippets: `(cluster) {
    kubernetes cluster.local {
        import access
    }
}
(access) {
    kubeconfig CONFIG
}
.:PORT {
    bind 127.0.0.1
    import cluster
    template IN A elsewhere.test {
        answer "elsewhere.test. 5 IN A 10.0.0.1"
    }
}
`,
  "no braces around the only block": `.:PORT
bind 127.0.0.1
kubernetes cluster.local { 
  kubeconfig CONFIG
}
template IN A elsewhere.test {
  answer "elsewhere.test. 5 IN A 10.0.0.1"
}
`,
  "Windows's line breaks, a byte order mark, comments stuck to words": `\uFEFF# first\r
.:PORT {\r
    bind 127.0.0.1#stuck\r
    kubernetes cluster.local in-addr.arpa {\r
        kubeconfig CONFIG\r
    }#stuck\r
    template IN A elsewhere.test {\r
        answer "elsewhere.test. 5 IN A 10.0.0.1"\r
    }\r
}\r
`,
  "a zone of somebody else's already": `.:PORT {
    bind 127.0.0.1
    kubernetes cluster.local other.local {
        kubeconfig CONFIG
        multicluster other.local
    }
    template IN A elsewhere.test {
        answer "elsewhere.test. 5 IN A 10.0.0.1"
    }
}
`,
};

test.each(Object.keys(FORMS))(
  "a Corefile with %s",
  async (form) => {
    const plain = FORMS[form]!.replaceAll("CONFIG", cluster.kubeconfigPath);
    const coredns = await startCoreDns({
      corefile: ({ port }) => {
        const text = plain.replaceAll("PORT", String(port));
        const enabled = enableZone(text, "clusterset.local", { kind: "multicluster" });
        expect(enabled).not.toBe(text);
        expect(disableZone(enabled, "clusterset.local")).toBe(text);
        return enabled;
      },
      isReady: (address) => denies(address, "nobody.nowhere.svc.cluster.local"),
    });
    onTestFinished(() => coredns.stop());
    const web = await askOnce(coredns, { name: WEB, type: "A" });
    expect(web.answer).toEqual([`${WEB}. 5 A 10.201.0.7`]);
    const elsewhere = await askOnce(coredns, { name: "elsewhere.test", type: "A" });
    expect(elsewhere.answer).toEqual(["elsewhere.test. 5 A 10.0.0.1"]);
    const local = { name: "kubernetes.default.svc.cluster.local", type: "A" } as const;
    expect((await askOnce(coredns, local)).answer).toHaveLength(1);
  },
  TIMEOUT_MS,
);
