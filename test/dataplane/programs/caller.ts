// Measuring: the program of a caller's container. Its orders from the environment in, counts on its control port out:
// GET /tally reads them, POST /mark begins a new window and answers the one that this ended.

import { createServer } from "node:http";
import { createAsker } from "./ask.ts";
import { startCalling } from "./call.ts";
import { PATIENCE, READY_PORT, readCallerOrders } from "./ports.ts";

const FAMILIES = [4, 6] as const;

const { target, ports, protocols, dns, everyMs } = readCallerOrders(process.env);
const calling = startCalling({
  id: `${process.pid}-${Date.now()}`,
  everyMs,
  hangMs: 3 * PATIENCE.timeoutMs + 10_000,
  onHang(what) {
    process.stderr.write(`${what}\n`);
    process.exit(1);
  },
  flows: FAMILIES.flatMap((family) =>
    protocols.map((protocol) => ({
      flow: { protocol, family },
      asker: createAsker(
        { protocol, family },
        { name: target, port: ports[protocol], dns: dns[family], ...PATIENCE },
      ),
    })),
  ),
});

createServer((request, response) => {
  const wish = `${request.method} ${request.url}`;
  const tally =
    wish === "GET /tally" ? calling.read() : wish === "POST /mark" ? calling.mark() : undefined;
  response.statusCode = tally === undefined ? 404 : 200;
  response.setHeader("content-type", "application/json");
  response.setHeader("connection", "close");
  response.end(JSON.stringify(tally ?? { error: `no such wish: ${wish}` }));
}).listen(READY_PORT, "::");

process.on("SIGTERM", () => process.exit(0));
