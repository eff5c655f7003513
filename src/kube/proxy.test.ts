// Proxy choice: the kubeconfig first, then the environment with its exceptions.

import { describe, expect, it } from "vitest";
import { isProblem } from "../api/problem.ts";
import { chooseProxy, renderUrl } from "./proxy.ts";

const SERVER = new URL("https://api.example.org:6443");
const HTTPS_PROXY = "http://proxy:3128";

describe("chooseProxy", () => {
  it("takes none when nothing names one", () => {
    expect(chooseProxy(SERVER, undefined, {})).toBeUndefined();
  });

  it("prefers proxy-url to the environment, whatever NO_PROXY says", () => {
    const env = { HTTPS_PROXY, NO_PROXY: "*" };
    expect(chooseProxy(SERVER, "http://mine:1", env)).toBe("http://mine:1");
  });

  it("takes HTTPS_PROXY for https servers, and adds the scheme it lacks", () => {
    expect(chooseProxy(SERVER, undefined, { HTTPS_PROXY })).toBe(HTTPS_PROXY);
    expect(chooseProxy(SERVER, undefined, { https_proxy: "proxy:1" })).toBe("http://proxy:1");
    expect(chooseProxy(SERVER, undefined, { HTTP_PROXY: "http://other:1" })).toBeUndefined();
  });

  it.each([
    ["api.example.org", true],
    ["example.org", true],
    [".example.org", true],
    ["*.example.org", true],
    ["ample.org", false],
    ["api.example.org:6443", true],
    ["api.example.org:443", false],
    ["other.org, *", true],
    ["", false],
  ])("NO_PROXY=%s exempts api.example.org:6443: %s", (rule, exempt) => {
    const proxy = chooseProxy(SERVER, undefined, { HTTPS_PROXY, NO_PROXY: rule });
    expect(proxy).toBe(exempt ? undefined : HTTPS_PROXY);
  });

  it.each([
    ["https://10.1.2.3:6443", "10.0.0.0/8", true],
    ["https://11.1.2.3:6443", "10.0.0.0/8", false],
    ["https://10.1.2.3:6443", "10.1.2.3", true],
    ["https://[fd00::5]:6443", "fd00::/8", true],
    ["https://[fd00::5]:6443", "10.0.0.0/8", false],
    ["https://127.0.0.1:6443", "", true],
    ["https://localhost:6443", "", true],
    ["https://[::1]:6443", "", true],
  ])("%s with NO_PROXY=%s goes direct: %s", (server, rule, exempt) => {
    const proxy = chooseProxy(new URL(server), undefined, { HTTPS_PROXY, NO_PROXY: rule });
    expect(proxy).toBe(exempt ? undefined : HTTPS_PROXY);
  });

  it("refuses a SOCKS proxy by name, without showing its password", () => {
    let thrown: unknown;
    try {
      chooseProxy(SERVER, "socks5://me:s3cret-pw@proxy:1080", {});
    } catch (error) {
      thrown = error;
    }
    expect(isProblem(thrown, "KubeconfigUnsupported")).toBe(true);
    expect(String(thrown)).toContain("socks5");
    expect(String(thrown)).not.toContain("s3cret-pw");
  });
});

describe("renderUrl", () => {
  it("leaves user, password and query out", () => {
    expect(renderUrl("https://me:pw@host:1/base?token=x")).toBe("https://host:1/base");
    expect(renderUrl("::::")).toBe("(not a URL)");
  });
});
