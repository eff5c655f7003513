// Token files: read again after a minute or a refusal, never sooner, and forgiving in between.

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { temporaryDirectory } from "../../test/loopback.ts";
import { createTokenFile } from "./token.ts";

function setUp(token?: string) {
  const file = join(temporaryDirectory(), "token");
  if (token !== undefined) writeFileSync(file, token);
  const clock = new VirtualClock();
  return { file, clock, source: createTokenFile(file, clock) };
}

it("picks up a rotated token within a minute, and not before", async () => {
  const { file, clock, source } = setUp("one\n");
  expect(await source.current()).toEqual({ authorization: "Bearer one" });
  writeFileSync(file, "two");
  await clock.advance(59_999);
  expect(await source.current()).toEqual({ authorization: "Bearer one" });
  await clock.advance(1);
  expect(await source.current()).toEqual({ authorization: "Bearer two" });
});

it("reads at once after a refusal, and says whether that brought something new", async () => {
  const { file, source } = setUp("one");
  const first = await source.current();
  expect(await source.refresh(first)).toBe(false);
  writeFileSync(file, "two");
  expect(await source.refresh(first)).toBe(true);
  expect(await source.current()).toEqual({ authorization: "Bearer two" });
  expect(await source.refresh(first)).toBe(true);
});

it("keeps the old token while the file is away", async () => {
  const { file, clock, source } = setUp("one");
  await source.current();
  rmSync(file);
  await clock.advance(120_000);
  expect(await source.current()).toEqual({ authorization: "Bearer one" });
});

it("names a file that never was there, and finds it when it appears", async () => {
  const { file, source } = setUp();
  await expect(source.current()).rejects.toMatchObject({
    code: "CredentialFileUnreadable",
    message: `token file ${file} cannot be read`,
  });
  writeFileSync(file, " ");
  await expect(source.current()).rejects.toMatchObject({ code: "CredentialFileUnreadable" });
  writeFileSync(file, "two\nlines");
  await expect(source.current()).rejects.toMatchObject({
    code: "CredentialFileUnreadable",
    message: `token file ${file} holds no token: it must be one line of plain text`,
  });
  writeFileSync(file, "late");
  expect(await source.current()).toEqual({ authorization: "Bearer late" });
});
