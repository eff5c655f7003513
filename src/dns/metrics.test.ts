import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { createCounters } from "./counters.ts";
import { registerDnsMetrics } from "./metrics.ts";

function measure(zones: readonly string[] = ["clusterset.local", "other.example"]) {
  const counters = createCounters(zones.length);
  const registry = new Registry();
  const age = { ms: 0 };
  registerDnsMetrics(registry, {
    zones,
    servers: {
      report: () => ({
        totals: counters.values.slice(),
        serial: 42,
        names: 7,
        tcpConnections: 3,
        forwarding: 1,
        isSynced: true,
      }),
      processes: () => ({ running: 2, restarts: 1 }),
    },
    feed: { isSynced: () => true, ageMs: () => age.ms },
  });
  return { counters, age, text: () => registry.metrics() };
}

describe("metrics of the DNS server", () => {
  test("are there before the first query", async () => {
    const { text } = measure();
    const body = await text();
    for (const line of [
      'isthmus_dns_queries_total{zone="clusterset.local",type="A",rcode="NOERROR"} 0',
      'isthmus_dns_received_total{transport="udp"} 0',
      'isthmus_dns_dropped_total{reason="tcp-idle"} 0',
      'isthmus_dns_forwarded_total{outcome="failed"} 0',
      "isthmus_dns_slipped_total 0",
      "isthmus_dns_answer_seconds_count 0",
      "isthmus_dns_serial 42",
      "isthmus_dns_names 7",
      "isthmus_dns_synced 1",
      "isthmus_dns_data_age_seconds 0",
      "isthmus_dns_tcp_connections 3",
      "isthmus_dns_forwards_in_flight 1",
      "isthmus_dns_processes 2",
      "isthmus_dns_process_restarts_total 1",
    ]) {
      expect(body).toContain(`${line}\n`);
    }
  });

  test("tell queries by zone, type and code", async () => {
    const { counters, text } = measure();
    counters.answered(0, 1, 0);
    counters.answered(0, 1, 0);
    counters.answered(1, 33, 3);
    counters.answered(-1, 28, 5);
    counters.answered(0, 1, 16);
    const body = await text();
    for (const line of [
      '{zone="clusterset.local",type="A",rcode="NOERROR"} 2',
      '{zone="other.example",type="SRV",rcode="NXDOMAIN"} 1',
      '{zone="other",type="AAAA",rcode="REFUSED"} 1',
      '{zone="clusterset.local",type="A",rcode="BADVERS"} 1',
    ]) {
      expect(body).toContain(`isthmus_dns_queries_total${line}\n`);
    }
  });

  test("have a bounded number of series, whatever is asked", async () => {
    const { counters, text } = measure();
    for (let type = 0; type < 65_536; type++) counters.answered((type % 5) - 2, type, type % 4_096);
    const series = (await text()).split("\n").filter((line) => line.startsWith("isthmus_dns_q"));
    expect(series.length).toBeLessThanOrEqual(3 * 10 * 8);
    const sum = series.reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
    expect(sum).toBe(65_536);
  });

  test("have a histogram in which each bucket holds those below it", async () => {
    const { counters, text } = measure();
    for (const seconds of [0.000_004, 0.000_015, 0.000_015, 7]) counters.took(seconds);
    const body = await text();
    expect(body).toContain("# TYPE isthmus_dns_answer_seconds histogram\n");
    expect(body).toContain('isthmus_dns_answer_seconds_bucket{le="0.000005"} 1\n');
    expect(body).toContain('isthmus_dns_answer_seconds_bucket{le="0.00002"} 3\n');
    expect(body).toContain('isthmus_dns_answer_seconds_bucket{le="0.1"} 3\n');
    expect(body).toContain('isthmus_dns_answer_seconds_bucket{le="+Inf"} 4\n');
    expect(body).toContain("isthmus_dns_answer_seconds_count 4\n");
    expect(body).toMatch(/isthmus_dns_answer_seconds_sum 7\.0000/);
  });

  test("show how old the data is", async () => {
    const { age, text } = measure();
    age.ms = 90_000;
    expect(await text()).toContain("isthmus_dns_data_age_seconds 90\n");
  });
});
