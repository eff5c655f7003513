// Client: a dispatcher and the question whether we may write → a dispatcher that asks it at the moment undici puts a
// request on a socket. Until then a request can wait in this process for credentials, for a connection or through a
// suspension of the whole process, and what was true when it was made no longer is. Never touches what was sent before.
//
// What is left: a request that a suspension catches between this question and the kernel, or whose body is too large for one
// write (some hundred kilobytes), is completed after it. Preconditions (resourceVersion, uid, create) are the answer to that.

import type { Dispatcher } from "undici";
import { StoreError } from "../ports/store.ts";

export function fenceDispatcher(agent: Dispatcher, mayWrite: () => boolean): Dispatcher {
  return agent.compose((dispatch) => (options, handler) => {
    const fenced: Dispatcher.DispatchHandler = {
      onRequestStart(controller, context) {
        // Thrown, not aborted: an abort would take the connection along. Undici calls this right before it writes.
        if (!mayWrite()) {
          throw new StoreError(
            "Unavailable",
            `this process is no longer the leader; nothing was written (${options.method} ${options.path})`,
          );
        }
        handler.onRequestStart?.(controller, context);
      },
      onRequestUpgrade: (...answer) => handler.onRequestUpgrade?.(...answer),
      onResponseStart: (...answer) => handler.onResponseStart?.(...answer),
      onResponseData: (...answer) => handler.onResponseData?.(...answer),
      onResponseEnd: (...answer) => handler.onResponseEnd?.(...answer),
      onResponseError: (...answer) => handler.onResponseError?.(...answer),
    };
    return dispatch(options, fenced);
  });
}
