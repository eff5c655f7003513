// CLI: what the demo's story is told with: titles, sentences, tables, commands to try, things to wait for. All that is shown comes
// from API servers and real requests; nothing that is printed is made up here.

import pc from "picocolors";
import type { Resource } from "../api/object.ts";
import type { KubeClient } from "../kube/client.ts";
import { buildPath } from "../kube/path.ts";
import { sleep } from "../ports/clock.ts";
import type { CliContext } from "./context.ts";
import { renderTable, type Table } from "./table.ts";

const POLL_MS = 20;
const PATIENCE_MS = 60_000;

export interface Stage {
  title(text: string): void;
  say(...lines: readonly string[]): void;
  /** Prints what `kubectl get` would. */
  show(
    cluster: { readonly name: string; readonly client: KubeClient },
    what: { readonly resource: Resource; readonly namespace: string; readonly selector?: string },
  ): Promise<void>;
  /** Commands for another terminal. */
  suggest(...commands: readonly string[]): void;
  /** Fails when it has not come true in time: the demo never claims what did not happen. */
  until(what: string, isTrue: () => Promise<boolean>): Promise<void>;
  wait(ms: number): Promise<void>;
  /** Since the stage was made, without the time that people took to read. */
  elapsedMs(): number;
  /** Lets people read, and try things. */
  pause(): Promise<void>;
}

/** `goOn` resolves when the story may go on. */
export function createStage(context: CliContext, goOn: () => Promise<void>): Stage {
  const { clock, signal, out } = context;
  const { bold, dim, cyan } = pc.createColors(context.color);
  const startedMs = clock.monotonic();
  let readingMs = 0;
  let step = 0;
  return {
    title(text) {
      step += 1;
      out("");
      out(bold(`${step}. ${text}`));
    },
    say(...lines) {
      for (const line of lines) out(`   ${line}`.trimEnd());
    },
    async show({ name, client }, { resource, namespace, selector }) {
      const scope = resource.namespaced ? ` -n ${namespace}` : "";
      const filter = selector === undefined ? "" : ` -l ${selector}`;
      out(`   ${cyan(name)} ${dim(`$ kubectl get ${resource.plural}${scope}${filter}`)}`);
      const answer = await client.request("GET", buildPath(resource, { namespace }), {
        headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
        query: { labelSelector: selector },
      });
      const table = answer.body as Table;
      const lines = (table.rows ?? []).length === 0 ? ["No resources found."] : renderTable(table);
      for (const line of lines) out(`   ${line}`);
    },
    suggest(...commands) {
      out("");
      out(`   ${dim("Try it in another terminal:")}`);
      for (const command of commands) out(`     ${cyan(command)}`);
    },
    async until(what, isTrue) {
      signal.throwIfAborted();
      const deadline = clock.monotonic() + PATIENCE_MS;
      while (!(await isTrue())) {
        if (clock.monotonic() > deadline) throw new Error(`waited in vain until ${what}`);
        await sleep(clock, POLL_MS, signal);
      }
    },
    wait: (ms) => sleep(clock, ms, signal),
    elapsedMs: () => clock.monotonic() - startedMs - readingMs,
    async pause() {
      const fromMs = clock.monotonic();
      await goOn();
      signal.throwIfAborted();
      readingMs += clock.monotonic() - fromMs;
    },
  };
}
