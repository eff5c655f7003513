// Fixture: what `npm run test:dataplane` does, in small: a process in namespaces of its own, with a network, a daemon in it and a
// file, that says "holding" and then waits for its end.

import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { listParents, runInside } from "../../tools/dataplane.ts";
import { startDaemons } from "../controlplane/daemons.ts";
import { startFabric } from "./fabric.ts";
import { startProgram } from "./node.ts";
import { planCluster } from "./plan.ts";

if (process.argv[2] === "inside") {
  await startFabric([planCluster("east")]);
  const daemons = await startDaemons();
  const place = { daemons, logsPath: daemons.folder, netns: "east" };
  await startProgram({ name: "sleeper", file: "sleep", args: ["3600"] }, place);
  writeFileSync(join(tmpdir(), "isthmus-held"), "");
  process.stdout.write("holding\n");
} else {
  const self = [process.execPath, "--import", "tsx", fileURLToPath(import.meta.url)];
  process.exitCode = await runInside([...self, "inside"], listParents());
}
