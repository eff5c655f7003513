// CLI: files in, a tar archive of them out, in the format that every tar reads (POSIX ustar). Plain files only, readable by their
// owner only.

export interface TarFile {
  /** With slashes; each part short, all of it at most 255 characters. */
  readonly path: string;
  readonly body: Buffer;
}

const BLOCK = 512;
const NAME_MAX = 100;
const PREFIX_MAX = 155;

export function packTar(files: readonly TarFile[], modifiedMs: number): Buffer {
  const blocks = files.flatMap(({ path, body }) => [
    renderHeader(path, body.length, modifiedMs),
    body,
    Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK),
  ]);
  // Two empty blocks are the end.
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function renderHeader(path: string, size: number, modifiedMs: number): Buffer {
  const { name, prefix } = splitPath(path);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, width: number): string =>
    `${Math.floor(value)
      .toString(8)
      .padStart(width - 1, "0")}\0`;
  header.write(name, 0, "utf8");
  header.write(octal(0o600, 8), 100, "ascii");
  header.write(octal(0, 8), 108, "ascii");
  header.write(octal(0, 8), 116, "ascii");
  header.write(octal(size, 12), 124, "ascii");
  header.write(octal(modifiedMs / 1_000, 12), 136, "ascii");
  // The sum is made as if its own field held blanks.
  header.write(" ".repeat(8), 148, "ascii");
  header.write("0", 156, "ascii");
  header.write("ustar\0", 257, "ascii");
  header.write("00", 263, "ascii");
  header.write(prefix, 345, "utf8");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "ascii");
  return header;
}

/** A path that is too long for one field is cut at a slash: the rest goes to the field in front. */
function splitPath(path: string): { readonly name: string; readonly prefix: string } {
  if (Buffer.byteLength(path) <= NAME_MAX) return { name: path, prefix: "" };
  const parts = path.split("/");
  for (let at = 1; at < parts.length; at += 1) {
    const prefix = parts.slice(0, at).join("/");
    const name = parts.slice(at).join("/");
    if (Buffer.byteLength(name) > NAME_MAX) continue;
    if (Buffer.byteLength(prefix) > PREFIX_MAX) break;
    return { name, prefix };
  }
  throw new Error(`the path ${path} is too long for a tar archive`);
}
