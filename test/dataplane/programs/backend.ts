// Data plane: the program of a backend's container. The Pod's name, node and wishes from the environment in, a backend out
// that drains on SIGTERM, or just ends when it is to drain for no time.

import { createServer } from "node:net";
import { READY_PORT, readBackendOrders } from "./ports.ts";
import { startBackend } from "./serve.ts";

const orders = readBackendOrders(process.env);
const backend = await startBackend(orders);
// Ready means: everything listens.
const readiness = createServer((socket) => socket.destroy()).listen(READY_PORT, "::");

process.on("SIGTERM", () => {
  if (orders.drainMs === 0) process.exit(0);
  // It serves on; but kube-proxy leaves UDP flows with whoever is ready, on its way out or not.
  if (!orders.staysReady) readiness.close();
  void backend.drain().then(() => process.exit(0));
});
