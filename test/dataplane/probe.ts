// Data plane: whether a TCP connection from a node to an address is accepted; refused and unanswered are both no.

import { runProgram } from "./node.ts";

const TIMEOUT_MS = 2_000;

const PROGRAM = `
const [address, port, timeoutMs] = process.argv.slice(1);
const socket = require("node:net").connect({ host: address, port: Number(port) });
const say = (word) => process.stdout.write(word, () => process.exit());
setTimeout(() => say("no"), Number(timeoutMs));
socket.on("connect", () => say("yes")).on("error", () => say("no"));
`;

export async function canConnect(
  netns: string,
  { address, port }: { readonly address: string; readonly port: number },
): Promise<boolean> {
  const args = ["-e", PROGRAM, address, String(port), String(TIMEOUT_MS)];
  return (await runProgram(netns, { file: process.execPath, args })) === "yes";
}
