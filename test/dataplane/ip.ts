// Data-plane bed: one process for many commands of `ip`: lines in, done or what `ip` said out.

import { execFile } from "node:child_process";

/** In the test's own namespace when none is named. Stops at the first line that fails. */
export function runIp(lines: readonly string[], netns?: string): Promise<void> {
  const place = netns === undefined ? [] : ["-n", netns];
  return runWithInput("ip", [...place, "-batch", "-"], `${lines.join("\n")}\n`);
}

/** Each line, whatever becomes of the others; fails at the end when one did. */
export function runIpThroughout(lines: readonly string[]): Promise<void> {
  return runWithInput("ip", ["-force", "-batch", "-"], `${lines.join("\n")}\n`);
}

/** Kernel settings of one network namespace, by their names under net. */
export function setKernel(values: Readonly<Record<string, number>>, netns?: string): Promise<void> {
  const place = netns === undefined ? [] : ["nsenter", `--net=/run/netns/${netns}`];
  const script = Object.entries(values)
    .map(([name, value]) => `echo ${value} > /proc/sys/net/${name.replaceAll(".", "/")}`)
    .join("\n");
  return runWithInput("env", [...place, "sh", "-e"], script);
}

function runWithInput(file: string, args: readonly string[], input: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = execFile(file, [...args], (error, _, stderr) => {
      if (error === null) resolve();
      else reject(new Error(`${[file, ...args].join(" ")} failed: ${stderr.trim()}\n${input}`));
    });
    // Told by the exit already.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
  });
}
