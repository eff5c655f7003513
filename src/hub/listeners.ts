// Hub: who wants to hear of changes in, one call for each of them out. Shared by all hubs.

import type { ClusterId, ServiceKey } from "../api/names.ts";
import type { Hub, HubListener } from "../ports/hub.ts";

export interface Listeners extends Pick<Hub, "subscribe"> {
  tellService(service: ServiceKey, source: ClusterId): void;
  tellDoubt(service: ServiceKey): void;
  tellMembers(): void;
}

export function createListeners(): Listeners {
  const listeners = new Set<HubListener>();
  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tellService(service, source) {
      for (const listener of listeners) listener.onService(service, source);
    },
    tellDoubt(service) {
      for (const listener of listeners) listener.onDoubt(service);
    },
    tellMembers() {
      for (const listener of listeners) listener.onMembers();
    },
  };
}
