// Data plane: whether a TCP connection from a node to an address is accepted; refused and unanswered are both no.

import { execFile } from "node:child_process";

const TIMEOUT_MS = 2_000;

const PROGRAM = `
const [address, port, timeoutMs] = process.argv.slice(1);
const socket = require("node:net").connect({ host: address, port: Number(port) });
const end = (code) => process.exit(code);
setTimeout(() => end(1), Number(timeoutMs));
socket.on("connect", () => end(0)).on("error", () => end(1));
`;

export function canConnect(
  netns: string,
  { address, port }: { readonly address: string; readonly port: number },
): Promise<boolean> {
  const program = [process.execPath, "-e", PROGRAM, address, String(port), String(TIMEOUT_MS)];
  return new Promise((resolve, reject) => {
    execFile("ip", ["netns", "exec", netns, ...program], (error, _, stderr) => {
      if (error === null) resolve(true);
      else if (error.code === 1 && stderr === "") resolve(false);
      else reject(new Error(`the probe in ${netns} failed: ${stderr}`, { cause: error }));
    });
  });
}
