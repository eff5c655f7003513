// The demo's network: addresses that can be listened on, whoever else is on the machine.

import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { closeServer, LOCALHOST, type Network, openNetwork } from "./network.ts";

async function open(options: { readonly isWhole?: boolean } = {}): Promise<Network> {
  const network = await openNetwork(options);
  onTestFinished(() => network.close());
  return network;
}

async function listen(network: Network, host: string): Promise<void> {
  const server = createServer();
  await network.listen(server, { host, port: network.port });
  onTestFinished(() => closeServer(server));
}

test("two demos at once have ranges of their own, where the machine has more than one address", async () => {
  const [first, second] = [await open(), await open()];
  const ranges = [first.rangesOf(0), second.rangesOf(0)] as const;
  expect(first.isWhole && ranges[0].pods === ranges[1].pods).toBe(false);
  for (const network of [first, second]) await listen(network, network.rangesOf(0).podAddress(1));
});

test("with one address each address and port is a port of it, the same one after a restart", async () => {
  const network = await open({ isWhole: false });
  const { podAddress } = network.rangesOf(0);
  const [one, two] = [
    { host: podAddress(1), port: network.port },
    { host: podAddress(2), port: network.port },
  ];
  const server = createServer();
  await network.listen(server, one);
  await listen(network, two.host);
  const at = network.locate(one);
  expect(at.host).toBe(LOCALHOST);
  expect(network.locate(two)).not.toEqual(at);
  await closeServer(server);
  await listen(network, one.host);
  expect(network.locate(one)).toEqual(at);
});
