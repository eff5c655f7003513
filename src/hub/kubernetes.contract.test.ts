// The hub contract on an embedded API server, one agent per cluster.

import { HubWorld } from "../../test/hubWorld.ts";
import { runHubContract } from "../../test/contract/hub.ts";
import { id } from "../../test/shares.ts";

runHubContract(async () => {
  const world = await HubWorld.open();
  let count = 0;
  return {
    uniqueId: (name) => id(`${name}-${(count += 1)}`),
    join: async (cluster) => {
      await world.register(cluster);
      const { hub } = await world.start(cluster);
      await hub.whenSynced();
      return hub;
    },
    remove: (cluster) => world.evict(cluster),
    eventually: async (sentence, assertion) => {
      for (let left = 60; ; left -= 1) {
        try {
          assertion();
          return;
        } catch (error) {
          if (left === 0) throw new Error(`not within a minute: ${sentence}`, { cause: error });
        }
        await world.pass(1);
      }
    },
    monotonic: () => world.clock.monotonic(),
    close: () => world.stop(),
  };
});
