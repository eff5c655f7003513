// Traces: where a collector is, as somebody wrote it, in; the address that spans are posted to out. Pure. What it says is shown in
// logs and tables, so nothing that opens something may be in it.

import { Problem } from "../api/problem.ts";

const HINT =
  "Give the address of a collector that takes OTLP over HTTP, such as http://collector:4318.";
const PATH = "/v1/traces";

/** The value itself is quoted nowhere: it may hold a password. */
export function parseEndpoint(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.hostname === "") {
    throw new Problem("ArgumentInvalid", "it is no http or https URL", { hint: HINT });
  }
  if (url.username !== "" || url.password !== "") {
    throw new Problem("ArgumentInvalid", "the URL has a user or a password in it", {
      hint: "No setting is a secret. Give the address of a collector that asks for none, and let that one hand the traces on.",
    });
  }
  if (url.search !== "" || url.hash !== "") {
    throw new Problem("ArgumentInvalid", 'the URL has something behind "?" or "#"', { hint: HINT });
  }
  const path = url.pathname.replace(/\/+$/, "");
  if (path.endsWith(PATH)) {
    throw new Problem("ArgumentInvalid", `the URL ends with ${PATH}, which is added to it`, {
      hint: `Give what stands before ${PATH}.`,
    });
  }
  url.pathname = path + PATH;
  return url;
}
