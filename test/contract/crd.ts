// Contract: CustomResourceDefinitions: installing, serving, validating, pruning, defaulting, versions, going away.

import { beforeAll, describe, expect, test } from "vitest";
import { CUSTOM_RESOURCE_DEFINITION as CRD } from "../../src/api/builtin.ts";
import { unique } from "./objects.ts";
import { type Server, SOON } from "./server.ts";
import { at } from "./wire.ts";
import {
  aWidget,
  aWidgetDefinition,
  installWidgets,
  removeWidgets,
  WIDGET_SCHEMA,
  type Widgets,
  widgetsOf,
} from "./widgets.ts";

export function crdContract(server: Server): void {
  describe("a CustomResourceDefinition", () => {
    test("is accepted, established and names its stored version", async () => {
      const widgets = await installWidgets(server());
      const { object } = await server().wire.get(at(CRD, "", widgets.crdName));
      expect(object.status?.conditions).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ type: "NamesAccepted", status: "True", reason: "NoConflicts" }),
          expect.objectContaining({
            type: "Established",
            status: "True",
            reason: "InitialNamesAccepted",
          }),
        ]),
      );
      expect(object.status).toMatchObject({
        storedVersions: ["v1"],
        acceptedNames: { kind: "Widget", listKind: "WidgetList", plural: "widgets" },
      });
      await removeWidgets(server(), widgets);
    });

    test("defaults singular, list kind and conversion", async () => {
      const widgets = await installWidgets(server());
      const { object } = await server().wire.get(at(CRD, "", widgets.crdName));
      expect(object.spec).toMatchObject({
        names: { singular: "widget", listKind: "WidgetList" },
        conversion: { strategy: "None" },
      });
      await removeWidgets(server(), widgets);
    });

    test("shows up in discovery once installed and goes from it once deleted", async () => {
      const widgets = await installWidgets(server());
      const { wire } = server();
      const found = async () => (await wire.get(`/apis/${widgets.group}/v1`)).status;
      await expect.poll(found, SOON).toBe(200);
      const resources = (await wire.get(`/apis/${widgets.group}/v1`)).object.resources;
      expect(resources).toEqual([
        expect.objectContaining({
          name: "widgets",
          singularName: "widget",
          namespaced: true,
          kind: "Widget",
          shortNames: ["wi"],
        }),
        expect.objectContaining({
          name: "widgets/status",
          kind: "Widget",
          verbs: ["get", "patch", "update"],
        }),
      ]);
      await removeWidgets(server(), widgets);
      await expect.poll(found, SOON).toBe(404);
    });

    test("named otherwise than <plural>.<group> is refused with 422", async () => {
      const group = unique("g") + ".example.org";
      const refused = await server().wire.post(at(CRD, ""), {
        ...aWidgetDefinition(group),
        metadata: { name: `others.${group}` },
      });
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field: "metadata.name" }),
      );
    });

    test("with no stored version, or with two, is refused with 422", async () => {
      const { wire } = server();
      for (const storage of [true, false]) {
        const definition = aWidgetDefinition(unique("g") + ".example.org");
        const refused = await wire.post(at(CRD, ""), {
          ...definition,
          spec: {
            ...definition.spec,
            versions: definition.spec.versions.map((version) => ({ ...version, storage })),
          },
        });
        expect(refused.status).toBe(422);
        expect(refused.error.details?.causes).toContainEqual(
          expect.objectContaining({ field: "spec.versions" }),
        );
      }
    });

    test.each([
      ["no type", { properties: { spec: {} } }],
      ["an array without items", { properties: { spec: { type: "array" } } }],
      [
        "a type inside anyOf",
        { properties: { spec: { type: "object", anyOf: [{ type: "object" }] } } },
      ],
    ])("with a schema that is not structural (%s) is refused with 422", async (_case, schema) => {
      const definition = aWidgetDefinition(unique("g") + ".example.org", {
        type: "object",
        ...schema,
      });
      const refused = await server().wire.post(at(CRD, ""), definition);
      expect(refused.status).toBe(422);
      expect(refused.error.reason).toBe("Invalid");
    });

    test("without a schema is refused with 422", async () => {
      const definition = aWidgetDefinition(unique("g") + ".example.org");
      const refused = await server().wire.post(at(CRD, ""), {
        ...definition,
        spec: {
          ...definition.spec,
          versions: [{ name: "v1", served: true, storage: true }],
        },
      });
      expect(refused.status).toBe(422);
    });

    test("deleted takes its objects with it: installed again, there are none", async () => {
      const ns = await server().namespace();
      const widgets = await installWidgets(server());
      await server().wire.post(at(widgets.v1, ns), aWidget(widgets, "a"));
      await removeWidgets(server(), widgets);
      await installWidgets(server(), widgets.group);
      expect((await server().wire.get(at(widgets.v1, ns))).list.items).toEqual([]);
      await removeWidgets(server(), widgets);
    });

    test("changed takes effect on the next write", async () => {
      const ns = await server().namespace();
      const widgets = await installWidgets(server());
      const { wire } = server();
      const tooBig = aWidget(widgets, "a", { size: 50 });
      expect((await wire.post(at(widgets.v1, ns), tooBig)).status).toBe(422);
      const { object } = await wire.get(at(CRD, "", widgets.crdName));
      const wider = aWidgetDefinition(widgets.group, {
        ...WIDGET_SCHEMA,
        properties: {
          ...WIDGET_SCHEMA.properties,
          spec: {
            ...WIDGET_SCHEMA.properties.spec,
            properties: { size: { type: "integer", maximum: 100 } },
          },
        },
      });
      const changed = await wire.put(at(CRD, "", widgets.crdName), {
        ...wider,
        metadata: object.metadata,
      });
      expect(changed.object.metadata.generation).toBe(2);
      await expect
        .poll(async () => (await wire.post(at(widgets.v1, ns), tooBig)).status, SOON)
        .toBe(201);
      await removeWidgets(server(), widgets);
    });
  });

  describe("a custom resource", () => {
    let widgets: Widgets;
    let ns: string;
    beforeAll(async () => {
      widgets = await server().widgets();
      ns = await server().namespace();
    });
    const create = async (spec: Readonly<Record<string, unknown>>, name = unique("w")) =>
      server().wire.post(at(widgets.v1, ns), aWidget(widgets, name, spec));

    test("is defaulted from its schema, also inside objects that are present", async () => {
      const created = await create({ nested: {} });
      expect(created.status).toBe(201);
      expect(created.object.spec).toEqual({ size: 1, nested: { mode: "auto" } });
    });

    test("loses the fields that its schema does not name", async () => {
      const created = await create({ size: 2, unknown: "x", nested: { other: 1 } });
      expect(created.object.spec).toEqual({ size: 2, nested: { mode: "auto" } });
    });

    test("keeps unknown fields where the schema preserves them", async () => {
      const created = await create({ free: { any: { thing: [1, "2"] } } });
      expect(created.object.spec).toMatchObject({ free: { any: { thing: [1, "2"] } } });
    });

    test.each<[string, Readonly<Record<string, unknown>>, string, string]>([
      ["a number below the minimum", { size: 0 }, "spec.size", "FieldValueInvalid"],
      ["a value outside the enum", { color: "pink" }, "spec.color", "FieldValueNotSupported"],
      ["a string that misses its pattern", { code: "abc" }, "spec.code", "FieldValueInvalid"],
      ["a string that is too long", { code: "A".repeat(9) }, "spec.code", "FieldValueTooLong"],
      ["too many items", { tags: ["a", "b", "c", "d"] }, "spec.tags", "FieldValueTooMany"],
      ["an item twice in a set", { tags: ["a", "a"] }, "spec.tags[1]", "FieldValueDuplicate"],
      [
        "a key twice in a list-map",
        { parts: [{ name: "p" }, { name: "p" }] },
        "spec.parts[1]",
        "FieldValueDuplicate",
      ],
      [
        "a missing required field",
        { parts: [{ value: "1" }] },
        "spec.parts[0].name",
        "FieldValueRequired",
      ],
      ["a wrong type", { size: "big" }, "spec.size", "FieldValueTypeInvalid"],
    ])("with %s is refused with 422 and its field", async (_case, spec, field, reason) => {
      const refused = await create(spec);
      expect(refused.status).toBe(422);
      expect(refused.error).toMatchObject({
        reason: "Invalid",
        details: { group: widgets.group, kind: "Widget" },
      });
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field, reason }),
      );
    });

    test("accepts a number or a string where the schema says either", async () => {
      expect((await create({ amount: 3 })).object.spec?.amount).toBe(3);
      expect((await create({ amount: "30%" })).object.spec?.amount).toBe("30%");
      expect((await create({ amount: true })).status).toBe(422);
    });

    test("is one object under both of its versions", async () => {
      const { object } = await create({ size: 3 }, "both");
      const old = await server().wire.get(at(widgets.v1beta1, ns, "both"));
      expect(old.object).toEqual({
        ...object,
        apiVersion: `${widgets.group}/v1beta1`,
        metadata: expect.anything(),
      });
      expect(old.object.metadata.uid).toBe(object.metadata.uid);
      expect(old.object.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
      const { list } = await server().wire.get(at(widgets.v1beta1, ns));
      expect(list).toMatchObject({
        kind: "WidgetList",
        apiVersion: `${widgets.group}/v1beta1`,
      });
    });

    test("written under one version is watched under the other", async () => {
      const { list } = await server().wire.get(at(widgets.v1beta1, ns));
      const watch = await server().wire.watch(at(widgets.v1beta1, ns), {
        resourceVersion: list.metadata.resourceVersion,
      });
      const { object } = await create({ size: 3 });
      const event = await watch.next();
      watch.close();
      expect(event.type).toBe("ADDED");
      expect(event.object.metadata.uid).toBe(object.metadata.uid);
      expect(event.object.apiVersion).toBe(`${widgets.group}/v1beta1`);
    });

    test("lists its items with kind and apiVersion, unlike built-in kinds", async () => {
      await create({});
      const { list } = await server().wire.get(at(widgets.v1, ns));
      expect(list.items[0]).toMatchObject({ kind: "Widget", apiVersion: `${widgets.group}/v1` });
    });

    test("counts its generation from 1, with the spec and not with the metadata", async () => {
      const { object } = await create({ size: 1 });
      expect(object.metadata.generation).toBe(1);
      const path = at(widgets.v1, ns, object.metadata.name!);
      const labelled = await server().wire.patch(path, "merge", {
        metadata: { labels: { a: "1" } },
      });
      expect(labelled.object.metadata.generation).toBe(1);
      const grown = await server().wire.patch(path, "merge", { spec: { size: 2 } });
      expect(grown.object.metadata.generation).toBe(2);
    });

    test("is not replaced without a resourceVersion", async () => {
      const { object } = await create({});
      const name = object.metadata.name!;
      const refused = await server().wire.put(at(widgets.v1, ns, name), aWidget(widgets, name));
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field: "metadata.resourceVersion" }),
      );
    });

    test("refuses a strategic merge patch with 415", async () => {
      const { object } = await create({});
      const refused = await server().wire.patch(
        at(widgets.v1, ns, object.metadata.name!),
        "strategic",
        { spec: { size: 2 } },
      );
      expect(refused.status).toBe(415);
      expect(refused.error.reason).toBe("UnsupportedMediaType");
    });

    test("that breaks its schema by a patch is refused with 422", async () => {
      const { object } = await create({});
      const path = at(widgets.v1, ns, object.metadata.name!);
      const refused = await server().wire.patch(path, "merge", { spec: { size: 999 } });
      expect(refused.status).toBe(422);
      expect((await server().wire.get(path)).object.spec).toEqual({ size: 1 });
    });

    test("shows its printer columns in a table", async () => {
      const { object } = await create({ size: 7, color: "red" });
      const { status, body } = await server().wire.send(
        "GET",
        at(widgets.v1, ns, object.metadata.name!),
        { headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" } },
      );
      expect(status).toBe(200);
      expect(body).toMatchObject({
        kind: "Table",
        columnDefinitions: [
          { name: "Name", type: "string", format: "name" },
          { name: "Size", type: "integer" },
          { name: "Color", type: "string" },
          { name: "Age", type: "date" },
        ],
        rows: [{ cells: [object.metadata.name, 7, "red", expect.any(String)] }],
      });
    });

    test("of an unknown version is 404", async () => {
      const group = widgetsOf(widgets.group);
      const answer = await server().wire.get(at({ ...group.v1, version: "v9" }, ns));
      expect(answer.status).toBe(404);
    });
  });

  describe("the status subresource", () => {
    let widgets: Widgets;
    let ns: string;
    beforeAll(async () => {
      widgets = await server().widgets();
      ns = await server().namespace();
    });

    test("is not written by a create", async () => {
      const { object } = await server().wire.post(at(widgets.v1, ns), {
        ...aWidget(widgets, "created"),
        status: { observed: 5 },
      });
      expect(object).not.toHaveProperty("status");
    });

    test("is not written by a write to the object", async () => {
      const { wire } = server();
      const { object } = await wire.post(at(widgets.v1, ns), aWidget(widgets, "main"));
      const path = at(widgets.v1, ns, "main");
      const replaced = await wire.put(path, { ...object, status: { observed: 5 } });
      expect(replaced.object).not.toHaveProperty("status");
      expect(replaced.object.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
      const patched = await wire.patch(path, "merge", { status: { observed: 5 } });
      expect(patched.object).not.toHaveProperty("status");
    });

    test("writes the status only, and leaves spec, labels and generation", async () => {
      const { wire } = server();
      const { object } = await wire.post(at(widgets.v1, ns), aWidget(widgets, "sub", { size: 2 }));
      const written = await wire.put(at(widgets.v1, ns, "sub", "status"), {
        ...object,
        metadata: { ...object.metadata, labels: { a: "1" } },
        spec: { size: 9 },
        status: { observed: 1 },
      });
      expect(written.status).toBe(200);
      expect(written.object.status).toEqual({ observed: 1 });
      expect(written.object.spec).toEqual({ size: 2 });
      expect(written.object.metadata.generation).toBe(1);
      expect(written.object.metadata).not.toHaveProperty("labels");
    });

    test("is validated and pruned by the schema", async () => {
      const { wire } = server();
      await wire.post(at(widgets.v1, ns), aWidget(widgets, "valid"));
      const path = at(widgets.v1, ns, "valid", "status");
      expect((await wire.patch(path, "merge", { status: { observed: "x" } })).status).toBe(422);
      const pruned = await wire.patch(path, "merge", { status: { observed: 1, other: 2 } });
      expect(pruned.object.status).toEqual({ observed: 1 });
    });

    test("honours a resourceVersion", async () => {
      const { wire } = server();
      const { object } = await wire.post(at(widgets.v1, ns), aWidget(widgets, "locked"));
      await wire.patch(at(widgets.v1, ns, "locked"), "merge", { spec: { size: 2 } });
      const refused = await wire.put(at(widgets.v1, ns, "locked", "status"), {
        ...object,
        status: { observed: 1 },
      });
      expect(refused.status).toBe(409);
    });

    test("is read like the object itself", async () => {
      const { wire } = server();
      const { object } = await wire.post(at(widgets.v1, ns), aWidget(widgets, "read"));
      expect((await wire.get(at(widgets.v1, ns, "read", "status"))).object).toEqual(object);
    });
  });
}
