// Measuring: the machine's own time, which never jumps and is the same in all of its processes, pods included.

export function uptimeMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
