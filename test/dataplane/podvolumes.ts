// What a container of a Pod finds in its file system: the Pod in, folders with the files of its volumes out, and the command that
// starts it where it finds them. Tokens of ServiceAccounts are real and bound to the Pod. Nothing is refreshed: tests are short.

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CONFIG_MAP, SECRET } from "../../src/api/builtin.ts";
import { renderTokenRequest } from "../../src/hub/manifest/tokenrequest.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { requestToken } from "../../src/kube/tokenrequest.ts";
import {
  type FilesFrom,
  type Projection,
  readField,
  requireContainer,
  type RunPod,
  type Volume,
} from "./pod.ts";

export interface Volumes {
  /** Empty; for the layers of the file system that the container gets. */
  readonly scratch: string;
  readonly mounts: readonly { readonly folder: string; readonly path: string }[];
}

type Files = readonly (readonly [path: string, content: string | Buffer])[];

const TOKEN_SECONDS = 7_200;
/**
 * A place that is not there is made in a layer of its own above what is: nothing is written to the machine's own folders. Replaces
 * itself by the program, so that signals reach it.
 */
const MOUNT = `set -eu
mount -t tmpfs isthmus "$1"
scratch=$1
shift
while [ "$1" != -- ]; do
  found=$2
  while [ ! -e "$found" ]; do found=$(dirname "$found"); done
  if [ "$found" != "$2" ]; then
    mkdir -p "$scratch/$#/upper" "$scratch/$#/work"
    mount -t overlay isthmus -o "lowerdir=$found,upperdir=$scratch/$#/upper,workdir=$scratch/$#/work" "$found"
    mkdir -p "$2"
  fi
  mount --bind "$1" "$2"
  shift 2
done
shift
exec "$@"`;

/** Those that the container mounts, below that folder. */
export async function fillVolumes(
  client: KubeClient,
  pod: RunPod,
  folder: string,
): Promise<Volumes> {
  const scratch = join(folder, "scratch");
  await mkdir(scratch, { recursive: true });
  const mounts = (requireContainer(pod).volumeMounts ?? []).map(async ({ name, mountPath }) => {
    const volume = pod.spec?.volumes?.find((each) => each.name === name);
    if (volume === undefined) throw new Error(`Pod ${pod.metadata.name} has no volume ${name}.`);
    const place = join(folder, "volumes", name);
    await mkdir(place, { recursive: true });
    for (const [path, content] of await readVolume(client, pod, volume)) {
      await mkdir(dirname(join(place, path)), { recursive: true });
      await writeFile(join(place, path), content, { mode: 0o600 });
    }
    return { folder: place, path: mountPath };
  });
  return { scratch, mounts: await Promise.all(mounts) };
}

export function withVolumes(volumes: Volumes, command: readonly string[]): readonly string[] {
  const pairs = volumes.mounts.flatMap(({ folder, path }) => [folder, path]);
  return ["unshare", "--mount", "sh", "-c", MOUNT, "sh", volumes.scratch, ...pairs, "--"].concat(
    command,
  );
}

async function readVolume(client: KubeClient, pod: RunPod, volume: Volume): Promise<Files> {
  const { configMap, secret, projected } = volume;
  const sources: readonly Projection[] = [
    ...(projected?.sources ?? []),
    ...(configMap === undefined ? [] : [{ configMap }]),
    ...(secret === undefined ? [] : [{ secret: { ...secret, name: secret.secretName } }]),
  ];
  if (sources.length === 0 && volume.emptyDir === undefined) {
    throw new Error(`This kubelet does not know how to fill the volume ${volume.name}.`);
  }
  const parts = sources.map((source) => readSource(client, pod, source));
  return (await Promise.all(parts)).flat();
}

async function readSource(client: KubeClient, pod: RunPod, source: Projection): Promise<Files> {
  const { namespace = "" } = pod.metadata;
  const { configMap, secret, serviceAccountToken: account, downwardAPI } = source;
  if (configMap !== undefined) {
    const found = await client.get(CONFIG_MAP, { namespace, name: configMap.name });
    return chooseFiles(configMap, found && Object.entries(found.data ?? {}));
  }
  if (secret !== undefined) {
    const found = await client.get(SECRET, { namespace, name: secret.name });
    const decoded = Object.entries(found?.data ?? {}).map(
      ([key, value]) => [key, Buffer.from(value, "base64")] as const,
    );
    return chooseFiles(secret, found && decoded);
  }
  if (account !== undefined) return [[account.path, await requestPodToken(client, pod)]];
  const items = downwardAPI?.items ?? [];
  return items.flatMap(({ path, fieldRef }) =>
    fieldRef === undefined ? [] : [[path, readField(pod, fieldRef)] as const],
  );
}

function chooseFiles({ name, items, optional }: FilesFrom, found: Files | undefined): Files {
  if (found === undefined && optional !== true) throw new Error(`There is no ${name} to mount.`);
  if (items === undefined) return found ?? [];
  return items.flatMap(({ key, path }) => {
    const file = found?.find(([each]) => each === key);
    if (file === undefined && optional !== true) throw new Error(`${name} has no ${key}.`);
    return file === undefined ? [] : [[path, file[1]] as const];
  });
}

async function requestPodToken(client: KubeClient, pod: RunPod): Promise<string> {
  const { namespace = "", name = "", uid = "" } = pod.metadata;
  const account = { namespace, name: pod.spec?.serviceAccountName ?? "default" };
  const { path, body } = renderTokenRequest({ account, seconds: TOKEN_SECONDS });
  const boundObjectRef = { apiVersion: "v1", kind: "Pod", name, uid };
  const bound = { ...body, spec: { ...body.spec, boundObjectRef } };
  return requestToken(client, { path, body: bound }, { nowMs: systemClock.now() });
}
