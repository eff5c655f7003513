// The dashboard's web server, with a feed that says what the test has it say: who is let in, what is answered, and what becomes of
// pages that do not read.

import { Agent, type IncomingMessage, request as send } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { ServiceKey } from "../src/api/names.ts";
import type { ServiceExplanation } from "../src/core/clusterset/explain.ts";
import { type DashboardServer, type Feed, serveDashboard } from "../src/dashboard/server.ts";
import type { DashboardChange, DashboardState } from "../src/dashboard/state.ts";
import { VirtualClock } from "./clock.ts";

const TOKEN = "correct-horse-battery";
const STATE: DashboardState = {
  version: 7,
  server: { version: "1.2.3", startedAt: "2026-01-01T00:00:00Z", mode: "test" },
  synced: true,
  clusters: [],
  services: [],
  events: [],
  latency: [],
};
const EXPLAINED: ServiceExplanation = {
  service: "shop/web" as ServiceKey,
  what: "shop/web",
  verdict: "good",
  why: "It can be used in east.",
  parts: [],
  usable: [],
};

function changeTo(version: number, text = ""): DashboardChange {
  const event = { id: version, at: "", kind: "joined", subject: "east", sentence: text } as const;
  return {
    version,
    synced: true,
    clusters: [],
    goneClusters: [],
    services: [],
    goneServices: [],
    events: [event],
    latency: [],
  };
}

interface Opened {
  readonly server: DashboardServer;
  readonly port: number;
  readonly clock: VirtualClock;
  /** Tells every page. */
  tell(change: DashboardChange): void;
  listeners(): number;
}

async function open(
  options: {
    readonly token?: string;
    readonly host?: string;
    readonly state?: () => DashboardState;
    readonly explain?: Feed["explain"];
    readonly patienceMs?: number;
  } = {},
): Promise<Opened> {
  const clock = new VirtualClock();
  const listeners = new Set<(change: DashboardChange) => void>();
  const feed: Feed = {
    state: options.state ?? (() => STATE),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    explain:
      options.explain ??
      (async (service) => (service === EXPLAINED.service ? EXPLAINED : undefined)),
  };
  const server = await serveDashboard({
    feed,
    assets: (path) => (path === "/" ? { type: "text/html", body: "<p>page</p>" } : undefined),
    host: options.host ?? "127.0.0.1",
    port: 0,
    ...(options.token === undefined ? {} : { token: options.token }),
    ...(options.patienceMs === undefined ? {} : { patienceMs: options.patienceMs }),
    clock,
  });
  onTestFinished(() => server.close());
  return {
    server,
    port: Number(new URL(server.url).port),
    clock,
    tell: (change) => {
      for (const listener of listeners) listener(change);
    },
    listeners: () => listeners.size,
  };
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** As fetch, but with whatever Host the test wants. */
function ask(
  { port }: Opened,
  path: string,
  options: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method = "GET", headers = {} } = options;
    const agent = new Agent({ keepAlive: false });
    const request = send({ host: "127.0.0.1", port, path, method, headers, agent }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (body += chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      );
    });
    request.on("error", reject);
    request.end();
  });
}

/** A page: every event that it was sent. */
async function openPage(opened: Opened): Promise<{
  readonly next: () => Promise<{ readonly event: string; readonly data: unknown }>;
}> {
  const leave = new AbortController();
  onTestFinished(() => leave.abort());
  const url = new URL("/api/changes", opened.server.url);
  const response = await fetch(url, { signal: leave.signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return {
    async next() {
      for (let from = 0; ; ) {
        const end = text.indexOf("\n\n", from);
        if (end >= 0) {
          const message = text.slice(0, end);
          text = text.slice(end + 2);
          const [, event] = /^event: (.*)$/m.exec(message) ?? [];
          const [, data] = /^data: (.*)$/m.exec(message) ?? [];
          if (event === undefined) return { event: message, data: undefined };
          return { event, data: JSON.parse(data ?? "null") as unknown };
        }
        const { done, value } = await reader.read();
        if (done) return { event: "end", data: undefined };
        from = Math.max(0, text.length - 1);
        text += value;
      }
    },
  };
}

test("every answer forbids other origins, frames, sniffing and caches", async () => {
  const opened = await open();
  for (const path of ["/", "/api/state", "/nothing", "/api/explain/shop/web"]) {
    const { headers } = await ask(opened, path);
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    });
    expect(headers["access-control-allow-origin"]).toBeUndefined();
  }
});

test("the page, the state and an explanation are answered; what is not there is not", async () => {
  const opened = await open();
  expect(await ask(opened, "/")).toMatchObject({ status: 200, body: "<p>page</p>" });
  expect(JSON.parse((await ask(opened, "/api/state")).body)).toEqual(STATE);
  expect(JSON.parse((await ask(opened, "/api/explain/shop/web")).body)).toEqual(EXPLAINED);
  expect(await ask(opened, "/api/explain/shop/gone")).toMatchObject({ status: 404 });
  for (const path of ["shop", "shop/web/more", "Shop/web", "shop/%2e%2e", ""]) {
    expect(await ask(opened, `/api/explain/${path}`)).toMatchObject({ status: 400 });
  }
  expect(await ask(opened, "/../../etc/passwd")).toMatchObject({ status: 404 });
  expect(await ask(opened, "/", { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
});

test.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])("%s is not answered", async (method) => {
  const opened = await open();
  for (const path of ["/", "/api/state", "/api/explain/shop/web"]) {
    const { status, headers } = await ask(opened, path, { method });
    expect({ status, allow: headers["allow"] }).toEqual({ status: 405, allow: "GET, HEAD" });
  }
});

test("on loopback a page that gave its own name this machine's address is turned away", async () => {
  const opened = await open();
  for (const host of ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1"]) {
    expect(await ask(opened, "/api/state", { headers: { host } })).toMatchObject({ status: 421 });
  }
  for (const host of ["localhost", "LOCALHOST:9", "127.0.0.1", `[::1]:${opened.port}`]) {
    expect(await ask(opened, "/api/state", { headers: { host } })).toMatchObject({ status: 200 });
  }
});

test("a page of another site is not answered, but may lead here", async () => {
  const opened = await open();
  for (const site of ["cross-site", "same-site"]) {
    const headers = { "sec-fetch-site": site };
    expect(await ask(opened, "/api/changes", { headers })).toMatchObject({ status: 403 });
    expect(await ask(opened, "/", { headers })).toMatchObject({ status: 200 });
  }
});

test("where a token is demanded nothing is shown without it, and with it everything, by header or by cookie", async () => {
  const opened = await open({ token: TOKEN, host: "0.0.0.0" });
  const wrong: readonly Record<string, string>[] = [
    {},
    { authorization: "Bearer wrong" },
    { authorization: TOKEN },
    { cookie: "isthmus-dashboard=" },
    { cookie: `isthmus-dashboard=${TOKEN}` },
  ];
  for (const path of [
    "/",
    "/api/state",
    "/api/changes",
    "/api/explain/shop/web",
    "/?token=wrong",
  ]) {
    for (const headers of wrong) {
      const answer = await ask(opened, path, { headers });
      expect(answer.status).toBe(401);
      expect(answer.headers["set-cookie"]).toBeUndefined();
      expect(answer.body).not.toContain(TOKEN);
    }
  }
  const bearer = { authorization: `Bearer ${TOKEN}` };
  expect(await ask(opened, "/api/state", { headers: bearer })).toMatchObject({ status: 200 });

  const entry = await ask(opened, `/?token=${TOKEN}`);
  expect(entry).toMatchObject({ status: 303, headers: { location: "/" } });
  const [crumb = ""] = entry.headers["set-cookie"] ?? [];
  expect(crumb).toContain("HttpOnly");
  expect(crumb).toContain("SameSite=Strict");
  expect(crumb).not.toContain(TOKEN);
  const cookie = `other=1; ${crumb.split(";")[0]}`;
  for (const path of ["/", "/api/state"]) {
    expect(await ask(opened, path, { headers: { cookie } })).toMatchObject({ status: 200 });
  }
  // Whoever holds the token may call the machine what he likes.
  const headers = { ...bearer, host: "dashboard.example" };
  expect(await ask(opened, "/api/state", { headers })).toMatchObject({ status: 200 });
});

test.each(["ab+cdefghijklmnop/==", "what?is?this?token", "a+b?c=d+e?f=0123456"])(
  "the token %s is taken from the address as it is, and as a browser would write it",
  async (token) => {
    const opened = await open({ token });
    for (const written of [token, encodeURIComponent(token)]) {
      expect(await ask(opened, `/?token=${written}`)).toMatchObject({ status: 303 });
    }
    expect(await ask(opened, `/?token=${token}x`)).toMatchObject({ status: 401 });
  },
);

test("nothing but loopback is served without a token", async () => {
  for (const host of ["", "0.0.0.0", "10.0.0.1"]) {
    await expect(open({ host })).rejects.toThrow("only with a token");
  }
});

test("a page is told the whole state first, then each change, and hears that the server is there", async () => {
  const opened = await open();
  const page = await openPage(opened);
  expect(await page.next()).toEqual({ event: "state", data: STATE });
  opened.tell(changeTo(8));
  opened.tell(changeTo(9));
  expect(await page.next()).toEqual({ event: "change", data: changeTo(8) });
  expect(await page.next()).toEqual({ event: "change", data: changeTo(9) });
  await opened.clock.advance(15_000);
  expect(await page.next()).toEqual({ event: "beat", data: {} });
  // Who comes back begins with the whole state again.
  expect(await (await openPage(opened)).next()).toEqual({ event: "state", data: STATE });
});

test("so many pages and no more: the next is asked to try again, and gets the place of one that leaves", async () => {
  const opened = await open();
  const pages = await Promise.all(Array.from({ length: 64 }, () => openStream(opened)));
  expect(await ask(opened, "/api/changes")).toMatchObject({ status: 503 });
  expect(await ask(opened, "/api/state")).toMatchObject({ status: 200 });
  pages[0]!.destroy();
  await until(async () => {
    const [status] = await openRaw(opened);
    return status === "200";
  });
});

test("a page that does not read is sent nothing more; the others notice nothing", async () => {
  const big = "x".repeat(4_000_000);
  const opened = await open();
  const reader = await openPage(opened);
  await reader.next();
  const lazy = await openStream(opened);
  lazy.pause();
  for (let version = 8; version < 12; version += 1) {
    opened.tell(changeTo(version, big));
    expect(await reader.next()).toMatchObject({ event: "change", data: { version } });
  }
  await opened.clock.advance(15_000);
  expect((await reader.next()).event).toBe("beat");
  const gone = new Promise<void>((resolve) => lazy.on("close", resolve));
  lazy.resume();
  await opened.server.close();
  await gone;
  // One message was on its way to it, never all four.
  expect(lazy.bytesRead).toBeLessThan(2.5 * big.length);
});

const HUGE = "x".repeat(40_000_000);

test("a page that takes nothing of what it was sent loses its place", async () => {
  const state = { ...STATE, server: { ...STATE.server, mode: HUGE } };
  const opened = await open({ state: () => state, patienceMs: 50 });
  const lazy = await openStream(opened);
  lazy.pause();
  // Without anybody to tell it, nobody keeps the time.
  await until(async () => {
    await opened.clock.advance(15_000);
    return opened.clock.pendingTimers === 0;
  });
  lazy.resume();
  await new Promise((resolve) => lazy.on("close", resolve));
  expect(lazy.bytesRead).toBeLessThan(HUGE.length);
});

test("whoever asks for something and does not take the answer is cut off, so that it is not kept for him", async () => {
  let signal: AbortSignal | undefined;
  const opened = await open({
    explain: (_, given) => {
      signal = given;
      return Promise.resolve({ ...EXPLAINED, why: HUGE });
    },
    patienceMs: 50,
  });
  const lazy = await openSocket(opened, "/api/explain/shop/web");
  lazy.pause();
  await until(async () => signal?.aborted === true);
  lazy.resume();
  await new Promise((resolve) => lazy.on("close", resolve));
  expect(lazy.bytesRead).toBeLessThan(HUGE.length);
});

test("a page on a slow line gets the whole state, however many beats that takes", async () => {
  const state = { ...STATE, server: { ...STATE.server, mode: HUGE } };
  const opened = await open({ state: () => state });
  const slow = await openStream(opened);
  for await (const _ of slow) {
    if (slow.bytesRead > HUGE.length) break;
    await opened.clock.advance(15_000);
  }
  expect(slow.bytesRead).toBeGreaterThan(HUGE.length);
});

test("a page that was slow is told the whole state once it reads again", async () => {
  const big = "x".repeat(4_000_000);
  let state = STATE;
  const opened = await open({ state: () => state });
  const url = new URL("/api/changes", opened.server.url);
  const slow = await new Promise<IncomingMessage>((resolve) => {
    send(url, { agent: new Agent() }, resolve).end();
  });
  onTestFinished(() => void slow.destroy());
  for (let version = 8; version < 12; version += 1) {
    state = { ...STATE, version };
    opened.tell(changeTo(version, big));
  }
  let text = "";
  slow.setEncoding("utf8");
  for await (const chunk of slow) {
    text += String(chunk);
    if (/event: state\nid: 11\n/.test(text)) break;
  }
  const seen = [...text.matchAll(/^event: (\w+)\nid: (\d+)$/gm)].map(([, event, id]) => [
    event,
    id,
  ]);
  expect(seen).toEqual([
    ["state", "7"],
    ["change", "8"],
    ["state", "11"],
  ]);
});

test("a few explanations at once are enough; who leaves does not keep the clusters busy", async () => {
  const signals: AbortSignal[] = [];
  const opened = await open({
    explain: (_, signal) => {
      signals.push(signal);
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    },
  });
  const asked = await Promise.all(
    Array.from({ length: 4 }, () => openSocket(opened, "/api/explain/shop/web")),
  );
  await until(async () => signals.length === 4);
  expect(await ask(opened, "/api/explain/shop/web")).toMatchObject({ status: 503 });
  for (const socket of asked) socket.destroy();
  await until(async () => signals.every(({ aborted }) => aborted));
});

test("when it closes nothing is left open", async () => {
  const opened = await open();
  const page = await openPage(opened);
  await page.next();
  await opened.server.close();
  expect(opened.listeners()).toBe(0);
  expect(opened.clock.pendingTimers).toBe(0);
  await expect(ask(opened, "/")).rejects.toThrow("ECONNREFUSED");
});

/** As a browser would, but the test decides when it reads. */
async function openStream(opened: Opened): Promise<Socket> {
  const [status, socket] = await openRaw(opened);
  expect(status).toBe("200");
  return socket;
}

async function openRaw(opened: Opened): Promise<readonly [string, Socket]> {
  const socket = await openSocket(opened, "/api/changes");
  return new Promise((resolve) => {
    socket.once("data", (chunk) => {
      resolve([/^HTTP\/1\.1 (\d+)/.exec(String(chunk))?.[1] ?? "", socket]);
    });
  });
}

function openSocket({ port }: Opened, path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      resolve(socket);
    });
    socket.on("error", reject);
    onTestFinished(() => void socket.destroy());
  });
}

/** Asks again, as often as the machine lets it, until it is true. */
async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
