// Contract suite: what a topic needs of the server under test, whichever of the two it is.

import type { KubeClient } from "../../src/kube/client.ts";
import type { Widgets } from "./widgets.ts";
import type { Wire } from "./wire.ts";

/** What a test file starts and stops. */
export interface ServerUnderTest {
  readonly client: KubeClient;
  readonly kubeconfigPath: string;
  /** IPv4 first, then IPv6. */
  readonly serviceCidrs: readonly string[];
  /** Whether garbage collection, namespace termination and EndpointSlices from Pods happen. */
  readonly hasControllers: boolean;
  /** Ends the server with all that the suite left on it. */
  close(): Promise<void>;
}

export interface ContractServer extends Omit<ServerUnderTest, "close"> {
  readonly wire: Wire;
  /** A new namespace. */
  namespace(): Promise<string>;
  /** One custom kind for all topics; those that change or delete the definition install their own. */
  widgets(): Promise<Widgets>;
}

export type Server = () => ContractServer;

export const NO_CONTROLLERS = "kube-controller-manager is not running beside this API server";

/** How long a poll waits for what a server does by itself: far beyond what it takes, so that only a defect reaches it. */
export const SOON = { timeout: 60_000, interval: 20 };
