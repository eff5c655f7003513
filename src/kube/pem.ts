// Credentials: PEM text that is given or lies in a file → the text of now. A missing file is a Problem with its path.

import { readFile } from "node:fs/promises";
import { Problem } from "../api/problem.ts";
import type { Pem } from "./connection.ts";

export async function readPem(pem: Pem | undefined): Promise<string | undefined> {
  if (pem === undefined) return undefined;
  if ("data" in pem) return pem.data;
  let text: string;
  try {
    text = await readFile(pem.file, "utf8");
  } catch (cause) {
    throw new Problem("CredentialFileUnreadable", `${pem.file} cannot be read`, {
      hint: "Check the path in the kubeconfig and the file's permissions.",
      cause,
    });
  }
  if (!text.includes("-----BEGIN ")) {
    throw new Problem("CredentialFileUnreadable", `${pem.file} holds no PEM text`, {
      hint: "Certificates and keys must be in PEM form.",
    });
  }
  return text;
}
