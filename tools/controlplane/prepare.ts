// First step of the tests: makes sure that a real control plane is at hand, says which, or says in one sentence what is missing.

import { requireBinaries, requireCoreDns, requireHelm } from "../../test/controlplane/binaries.ts";

const started = performance.now();

try {
  const report = (line: string): void => write(process.stdout, line);
  const binaries = await requireBinaries({ report });
  await requireCoreDns({ report });
  await requireHelm({ report });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  write(
    process.stdout,
    `Kubernetes ${binaries.version} from ${binaries.source}, ready after ${seconds} s`,
  );
} catch (error) {
  write(process.stderr, error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

function write(stream: NodeJS.WriteStream, line: string): void {
  stream.write(`control plane: ${line}\n`);
}
