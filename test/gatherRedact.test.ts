// What a support bundle takes out of texts and objects, and what it leaves alone.

import { describe, expect, test } from "vitest";
import { redactCorefile, redactData, redactText } from "../src/core/check/redact.ts";

const KEY = "q7Z1mPlantedKey0aB3dE5fG7hJ9kL1nP3rT5vX7zA9";

describe("a text", () => {
  test.each([
    ["Authorization: Bearer abc.def-123456", "Authorization: (redacted)"],
    ["sent header Bearer abc.def-123456 to it", "sent header Bearer (redacted) to it"],
    ['{"password":"hunter2","user":"eve"}', '{"password":(redacted),"user":"eve"}'],
    ["DB_PASSWORD=hunter2 DB_HOST=db", "DB_PASSWORD=(redacted) DB_HOST=db"],
    ["started with --token hunter2 --port 80", "started with --token (redacted) --port 80"],
    ["client-secret: 'hunter 2'", "client-secret: (redacted)"],
    ["  - clientSecret: hunter 2 and more", "  - clientSecret: (redacted)"],
    ['msg="{\\"token\\":\\"hunter2\\"}" n=1', 'msg="{\\"token\\":(redacted)}" n=1'],
    ["postgres://eve:hunter2@db:5432/shop", "postgres://(redacted)@db:5432/shop"],
    ["join with isthmus1.eyJzZXJ2ZXIiOiJ4In0= now", "join with (redacted) now"],
    ["eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln ok", "(redacted) ok"],
    ["kubeadm join 10.0.0.1 abcdef.0123456789abcdef", "kubeadm join 10.0.0.1 (redacted)"],
    ["key AKIAIOSFODNN7EXAMPLE used", "key (redacted) used"],
    [`cookie ${KEY} set`, "cookie (redacted) set"],
    [`hash ${"0123456789abcdef".repeat(4)}`, "hash (redacted)"],
    ["-----BEGIN PRIVATE KEY-----\nMIIx\n-----END PRIVATE KEY-----\nbye", "(redacted)\nbye"],
    ["sent Authorization: token planted now", "sent Authorization: (redacted)"],
    ['{"authorization":"ApiKey planted","code":1}', '{"authorization":(redacted)'],
    ["got Set-Cookie: sid=planted; Path=/\nbye", "got Set-Cookie: (redacted)\nbye"],
    ["called with ApiKey planted", "called with ApiKey (redacted)"],
    ["postgres://eve:hun/ter2@db/shop", "postgres://(redacted)@db/shop"],
    ["mysql://eve:hunt'er2@db/shop", "mysql://(redacted)@db/shop"],
    ["amqp://eve:hunt@er2@mq:5672 is away", "amqp://(redacted)@mq:5672 is away"],
    ["DB_PASS=hunter2 dbPass: hunter2", "DB_PASS=(redacted) dbPass: (redacted)"],
    ["a:\n  password: |\n    one\n\n    two\n  b: 1", "a:\n  password: (redacted)\n  b: 1"],
    ["password: |-\r\nplanted\r\nbye", "password: (redacted)\r\nbye"],
    ["read password: >\nplanted\nbye", "read password: (redacted)\nbye"],
    ["cut: -----BEGIN PRIVATE KEY-----\nMIIx", "cut: (redacted)"],
  ])("%s", (text, expected) => {
    expect(redactText(text)).toBe(expected);
  });

  test.each([
    "2026-01-02T03:04:05Z warn agent is in trouble cluster=east error=the connection was refused",
    "derived-3k2j5h6g7f8d9s0a1q2w3e4r5t6y7u8i in shop",
    "image isthmus@sha256:" + "0123456789abcdef".repeat(4),
    "holder agent-6d5f7c9b8-x2x4z_0b8f6a3e-2c1d-4e5f-8a9b-0c1d2e3f4a5b",
    "/tmp/isthmus-controlplane-jdWQAT/kubeconfig/of/East1",
    "docker-pullable://registry:5000/isthmus@sha256:0123456789abcdef passed: 3, bypassed=1",
    "https://10.0.0.1:6443/apis/multicluster.x-k8s.io/v1beta1/serviceimports",
  ])("stays as it is when nothing in it opens anything: %s", (text) => {
    expect(redactText(text)).toBe(text);
  });
});

test("a log of one endless line takes no longer than it is long", () => {
  const line = "eyJabc-".repeat(40_000) + "a".repeat(300_000);
  expect(redactText(line).length).toBeLessThanOrEqual(line.length);
  expect(redactText(redactText("token=a password: b"))).toBe(redactText("token=a password: b"));
});

describe("an object", () => {
  test("of kind Secret keeps its keys and loses every value, whatever they are called", () => {
    const secret = { kind: "Secret", data: { note: "cGxhbnRlZA==" }, stringData: { b: "planted" } };
    expect(redactData([secret])).toEqual([
      { kind: "Secret", data: { note: "(redacted)" }, stringData: { b: "(redacted)" } },
    ]);
  });

  test("keeps the names of environment variables, and where they come from", () => {
    const env = [
      { name: "A", value: "planted" },
      { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    ];
    expect(redactData({ spec: { containers: [{ env }] } })).toEqual({
      spec: {
        containers: [{ env: [{ name: "A", value: "(redacted)" }, env[1]] }],
      },
    });
  });

  test("keeps annotations of the API and of ours, unless they are called like a secret", () => {
    const annotations = {
      "multicluster.kubernetes.io/derived-service": "derived-abc",
      "isthmus.dev/when-lost": "keep",
      "isthmus.dev/claim": "planted",
      "kubectl.kubernetes.io/last-applied-configuration": "planted",
      "example.org/any": "planted",
    };
    expect(redactData({ metadata: { annotations, managedFields: [{}] } })).toEqual({
      metadata: {
        annotations: {
          "multicluster.kubernetes.io/derived-service": "derived-abc",
          "isthmus.dev/when-lost": "keep",
          "isthmus.dev/claim": "(redacted)",
          "kubectl.kubernetes.io/last-applied-configuration": "(redacted)",
          "example.org/any": "(redacted)",
        },
      },
    });
  });

  test("hides all that stands below a name of a secret, numbers and lists too, but not yes and no", () => {
    const object = {
      password: 12345,
      credentials: { value: "planted", deep: [{ a: "planted" }] },
      tokens: ["planted"],
      isSecret: true,
      imagePullSecrets: [{ name: "regcred" }],
      env: [{ name: "A", valueFrom: { secretKeyRef: { name: "db", key: "a" } } }],
      headers: [{ name: "X-Token", value: "planted" }],
      counts: { pass: 3 },
    };
    expect(redactData(object)).toEqual({
      ...object,
      password: "(redacted)",
      credentials: "(redacted)",
      tokens: "(redacted)",
      headers: [{ name: "X-Token", value: "(redacted)" }],
    });
  });

  test("hides what comes after an option that is called like a secret", () => {
    const args = ["serve", "--token", "planted", "-db-pass", "planted", "--secret", "--port", "80"];
    expect(redactData({ args })).toEqual({
      args: [
        "serve",
        "--token",
        "(redacted)",
        "-db-pass",
        "(redacted)",
        "--secret",
        "--port",
        "80",
      ],
    });
  });

  test("keeps numbers, names and conditions", () => {
    const object = {
      metadata: { name: "web", labels: { app: "web" }, generation: 3 },
      spec: { ports: [{ port: 80 }], ips: ["10.0.0.1"] },
      status: { conditions: [{ type: "Ready", status: "True", message: "All is well." }] },
    };
    expect(redactData(object)).toEqual(object);
  });
});

test("a Corefile loses what stands behind an option that is called like a secret, and nothing else", () => {
  const text = [
    ".:53 {",
    "    # the token is elsewhere",
    "    route53 example.org.:Z1 {",
    "        aws_access_key ID planted",
    "    }",
    "    etcd {",
    "        credentials root planted",
    "    }",
    "    kubernetes cluster.local {",
    "        pods insecure",
    "    }",
    "}",
  ];
  const expected = text.map((line) =>
    line
      .replace("aws_access_key ID planted", "aws_access_key (redacted)")
      .replace("credentials root planted", "credentials (redacted)"),
  );
  expect(redactCorefile(text.join("\n"))).toBe(expected.join("\n"));
});

test("a Corefile loses its secrets also with line ends of Windows, in comments and behind a brace", () => {
  const text = "tsig { secret key.example. planted\r\n  secret key.example. planted\r\n}\r\n";
  expect(redactCorefile(text)).toBe("tsig { secret (redacted)\n  secret (redacted)\n}\n");
  expect(redactCorefile("#credentials root planted\n  ## secret planted\n")).toBe(
    "#credentials (redacted)\n  ## secret (redacted)\n",
  );
});
