import * as fc from "fast-check";
import { expect, test } from "vitest";
import { id, WEB } from "../../test/shares.ts";
import { plannedEndpoints, plannedShare, tampered } from "../../test/storedShares.ts";
import { endpointShareName, serviceShareName } from "../api/digest.ts";
import type { EndpointShare } from "../api/share.ts";
import {
  type Decoded,
  decodeEndpointShare,
  decodeServiceShare,
  encodeEndpointShare,
  encodeServiceShare,
} from "./wire.ts";

const EAST = id("east");
const SLICE = "web-abc";

function sent(spec: unknown): unknown {
  return JSON.parse(JSON.stringify(spec));
}

function readService(spec: unknown) {
  return decodeServiceShare({ cluster: EAST, name: serviceShareName(WEB), spec });
}

function readEndpoints(spec: unknown, slice: string) {
  return decodeEndpointShare({ cluster: EAST, name: endpointShareName(WEB, slice), spec });
}

/** The same endpoints without what stays at home. */
function asOthersSeeIt(share: EndpointShare): EndpointShare {
  return {
    ...share,
    endpoints: share.endpoints.map(({ addresses, nodeName: _nodeName, ...endpoint }) => ({
      ...endpoint,
      addresses: addresses.slice(0, 1),
    })),
  };
}

/** What is said of a share is short and printable, whatever came; and a share that is not taken has a reason. */
function isWorded({ ok, rejections }: Decoded<object>): boolean {
  return (
    (ok || rejections.length > 0) &&
    rejections.length < 20 &&
    rejections.every(
      ({ cluster, count, message }) =>
        cluster === EAST && count > 0 && message.length < 1_000 && !/[\p{Cc}\p{Cf}]/u.test(message),
    )
  );
}

test("what a member shares of a service arrives as it was sent", () => {
  fc.assert(
    fc.property(plannedShare, (share) => {
      expect(readService(sent(encodeServiceShare(share)))).toEqual({
        ok: true,
        value: share,
        rejections: [],
      });
    }),
    { numRuns: 500 },
  );
});

test("what a member shares of its endpoints arrives as it was sent, without nodes, hints and second addresses", () => {
  fc.assert(
    fc.property(plannedEndpoints, (shares) => {
      for (const share of shares) {
        expect(readEndpoints(sent(encodeEndpointShare(share)), share.slice)).toEqual({
          ok: true,
          value: asOthersSeeIt(share),
          rejections: [],
        });
      }
    }),
    { numRuns: 500 },
  );
});

const serviceSpec = plannedShare.map((share) => sent(encodeServiceShare(share)));
const endpointSpec = plannedEndpoints.map((shares) => {
  const [share = { endpoints: [], ports: [], addressType: "IPv4" as const }] = shares;
  return sent(encodeEndpointShare({ ...share, cluster: EAST, service: WEB, slice: SLICE }));
});
const anything = fc.oneof(
  fc.anything({ withNullPrototype: true, withSparseArray: true }),
  fc.jsonValue(),
);

test("any value at all is read without an error, and what is read of it can be sent and read again", () => {
  fc.assert(
    fc.property(fc.oneof(anything, tampered(serviceSpec)), (spec) => {
      const decoded = readService(spec);
      expect(decoded).toSatisfy(isWorded);
      if (!decoded.ok) return;
      expect(readService(sent(encodeServiceShare(decoded.value)))).toEqual({
        ok: true,
        value: decoded.value,
        rejections: [],
      });
    }),
    { numRuns: 2_000 },
  );
});

test("any value at all is read as endpoints without an error, and what is read of it can be sent and read again", () => {
  fc.assert(
    fc.property(fc.oneof(anything, tampered(endpointSpec)), (spec) => {
      const decoded = readEndpoints(spec, SLICE);
      expect(decoded).toSatisfy(isWorded);
      if (!decoded.ok) return;
      expect(readEndpoints(sent(encodeEndpointShare(decoded.value)), SLICE)).toEqual({
        ok: true,
        value: decoded.value,
        rejections: [],
      });
    }),
    { numRuns: 2_000 },
  );
});

test("a name of any form is read without an error", () => {
  fc.assert(
    fc.property(fc.string(), serviceSpec, (name, spec) => {
      expect(decodeServiceShare({ cluster: EAST, name, spec })).toSatisfy(isWorded);
      expect(decodeEndpointShare({ cluster: EAST, name, spec })).toSatisfy(isWorded);
    }),
  );
});
