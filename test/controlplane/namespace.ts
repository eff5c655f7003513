// A command line in, the same inside a network namespace out. Pure.

export interface CommandLine {
  readonly file: string;
  readonly args: readonly string[];
}

/** As `ip netns exec`, but with the mounts that are there. It replaces itself by the program, so the pid is the program's. */
export function inNamespace(netns: string, { file, args }: CommandLine): CommandLine {
  return { file: "nsenter", args: [`--net=/run/netns/${netns}`, "--", file, ...args] };
}
