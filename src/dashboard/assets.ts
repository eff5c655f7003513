// Dashboard: the path of a file of the page in, its type and text out. The files are in the program itself: nothing is read from
// a disk.

import { PAGE } from "./page.generated.ts";

export interface PageFile {
  readonly type: string;
  readonly body: string;
}

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Undefined: there is no such file. */
export function readAsset(path: string): PageFile | undefined {
  if (!Object.hasOwn(PAGE, path)) return undefined;
  const body = PAGE[path];
  const type = TYPES[path === "/" ? "html" : (path.split(".").at(-1) ?? "")];
  return body === undefined || type === undefined ? undefined : { type, body };
}
