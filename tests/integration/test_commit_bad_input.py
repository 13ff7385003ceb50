# SPDX-License-Identifier: Apache-2.0
"""Commits that are malformed, foreign or contradict themselves: refused, and nothing is written."""
import io
import json
import random
import zlib

import pyarrow as pa
import pytest
from lib.clients import PyIceberg
from lib.forge import Draft, post
from lib.rest import error_of
from lib.writes import Writer, uuid7
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType

SPACE = "bad_input"
SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "word", StringType()),
                NestedField(3, "point", StructType(NestedField(4, "x", IntegerType()))))


def rows(start: int, stop: int) -> pa.Table:
    return pa.table({"id": pa.array(range(start, stop), pa.int64()),
                     "word": [f"w{i}" for i in range(start, stop)],
                     "point": pa.array([{"x": i} for i in range(start, stop)],
                                       pa.struct([("x", pa.int32())]))})


@pytest.fixture(scope="module")
def catalog(server):
    server.lake.session().execute(f"CREATE SCHEMA lake.{SPACE}")
    client = PyIceberg(server).catalog
    table = client.create_table((SPACE, "t"), SCHEMA)
    table.append(rows(0, 10))
    table.append(rows(10, 20))
    table.delete("id < 10")
    other = client.create_table((SPACE, "other"), SCHEMA, partition_spec=PartitionSpec(
        PartitionField(2, 1000, IdentityTransform(), "word")))
    other.append(rows(0, 3))
    return client


@pytest.fixture(scope="module")
def good(server, catalog):
    """An append that would be accepted; tests change copies of it."""
    return Draft(server, SPACE, "t", lambda t: t.append(rows(100, 105)))


@pytest.fixture(scope="module")
def good_delete(server, catalog):
    """A delete of one row by rewriting, likewise: its snapshot has ADDED and DELETED entries."""
    return Draft(server, SPACE, "t", lambda t: t.delete("id = 12"))


@pytest.fixture
def refused(server, catalog):
    """Asserts a refusal that leaves no trace."""
    def check(answer, *statuses, kind=None):
        assert answer.status_code in statuses, f"{answer.status_code}: {answer.text[:600]}"
        error = error_of(answer, answer.status_code, kind)
        secrets = [v for k, v in server.lake.env.items() if "SECRET" in k or "PASSWORD" in k]
        assert not any(s and s in error["message"] for s in secrets)
        return error
    before = (server.lake.head(), server.load(SPACE, "t"), server.load(SPACE, "other"))
    yield check
    assert server.lake.head() == before[0]
    assert (server.load(SPACE, "t"), server.load(SPACE, "other")) == before[1:]


# -- bodies ---------------------------------------------------------------------------------------

BODIES = {
    "empty": b"", "not JSON": b"{", "two values": b"{} {}", "an array": b"[]", "a string": b'"x"',
    "invalid UTF-8": b'{"updates": [{"action": "set-properties", "updates": {"a": "\xff"}}]}',
    "a lone surrogate": b'{"updates": [{"action": "set-properties", "updates": {"a": "\\ud800"}}]}',
    "too deep": b'{"updates": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "updates not an array": {"requirements": [], "updates": {}},
    "requirements not an array": {"requirements": "x", "updates": []},
    "an update that is no object": {"updates": ["set-properties"]},
    "an update without action": {"updates": [{"updates": {"a": "b"}}]},
    "an action that is no string": {"updates": [{"action": 7}]},
    "an unknown action": {"updates": [{"action": "drop-everything"}]},
    "a view's action": {"updates": [{"action": "set-current-view-version", "view-version-id": 1}]},
    "an unknown requirement": {"requirements": [{"type": "assert-nothing"}], "updates": []},
    "a requirement without type": {"requirements": [{"ref": "main"}], "updates": []},
    "a view's requirement": {"requirements": [{"type": "assert-view-uuid", "uuid": "x"}],
                             "updates": []},
    "assert-ref without ref": {"requirements": [{"type": "assert-ref-snapshot-id",
                                                 "snapshot-id": 1}], "updates": []},
    "another table's name": {"identifier": {"namespace": [SPACE], "name": "other"}, "updates": []},
    "an unknown update after a good one": {"updates": [
        {"action": "set-properties", "updates": {"a": "b"}}, {"action": "nonsense"}]},
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies(server, refused, name):
    refused(post(server, SPACE, "t", BODIES[name]), 400)


def test_a_body_that_is_too_large(server, refused):
    body = b'{"updates": [], "x": "' + b"a" * (65 << 20) + b'"}'
    refused(post(server, SPACE, "t", body), 400, 413)


def test_random_bytes_in_a_good_body(server, good, refused):
    """Single bytes changed: accepted by no accident, answered every time, never a 5xx."""
    dice = random.Random(4)
    text = json.dumps(dict(good.body, requirements=[
        {"type": "assert-table-uuid", "uuid": NOBODY}])).encode()
    for _ in range(60):
        body = bytearray(text)
        for _ in range(dice.randint(1, 4)):
            body[dice.randrange(len(body))] = dice.choice(b'{}[]",:0x\x00\xff\\')
        refused(post(server, SPACE, "t", bytes(body)), 400, 403, 409)


# -- requirements ---------------------------------------------------------------------------------

def requirement(kind: str, **members) -> dict:
    return {"requirements": [{"type": kind, **members}],
            "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}


NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize("body", [
    requirement("assert-create"), requirement("assert-table-uuid", uuid=NOBODY),
    requirement("assert-ref-snapshot-id", **{"ref": "main", "snapshot-id": 1}),
    requirement("assert-ref-snapshot-id", **{"ref": "main", "snapshot-id": None}),
    requirement("assert-ref-snapshot-id", **{"ref": "nowhere", "snapshot-id": 1}),
    requirement("assert-last-assigned-field-id", **{"last-assigned-field-id": 77}),
    requirement("assert-current-schema-id", **{"current-schema-id": 77}),
    requirement("assert-last-assigned-partition-id", **{"last-assigned-partition-id": 77}),
    requirement("assert-default-spec-id", **{"default-spec-id": 77}),
    requirement("assert-default-sort-order-id", **{"default-sort-order-id": 77}),
], ids=lambda b: f"{b['requirements'][0]['type']} {list(b['requirements'][0].values())[1:]}")
def test_requirements_that_do_not_hold_are_conflicts(server, refused, body):
    kind = "AlreadyExistsException" if body["requirements"][0]["type"] == "assert-create" else None
    error = refused(post(server, SPACE, "t", body), 409)
    assert error["type"] in ("CommitFailedException", kind), error


def test_a_stale_parent_is_a_conflict_that_clients_retry(server, catalog):
    """Case A-05: with the stale requirement, and without any requirement, 409 and not 400."""
    catalog.create_table((SPACE, "stale"), SCHEMA).append(rows(0, 3))
    draft = Draft(server, SPACE, "stale", lambda t: t.append(rows(3, 6)))
    catalog.load_table((SPACE, "stale")).append(rows(6, 9))
    head = server.lake.head()
    error_of(draft.post(), 409, "CommitFailedException")
    draft.body["requirements"] = []
    error_of(draft.post(), 409, "CommitFailedException")
    assert server.lake.head() == head


def test_a_parent_that_was_never_there(good, refused):
    draft = good.copy()
    draft.snapshot["parent-snapshot-id"] = 4711
    refused(draft.post(), 400, 409)


# -- updates --------------------------------------------------------------------------------------

def schema_with(*fields, **more) -> dict:
    base = [{"id": 1, "name": "id", "required": False, "type": "long"},
            {"id": 2, "name": "word", "required": False, "type": "string"}]
    return {"type": "struct", "schema-id": 1, "fields": [*base, *fields], **more}


def field(number: int, name: str, kind="int", required: bool = False) -> dict:
    return {"id": number, "name": name, "required": required, "type": kind}


def new_schema(*fields, **more) -> list[dict]:
    return [{"action": "add-schema", "schema": schema_with(*fields, **more)},
            {"action": "set-current-schema", "schema-id": -1}]


def new_spec(*fields) -> list[dict]:
    return [{"action": "add-spec", "spec": {"spec-id": 1, "fields": list(fields)}},
            {"action": "set-default-spec", "spec-id": -1}]


def by(source: int, transform: str, name: str = "p", number: int = 1000) -> dict:
    return {"source-id": source, "field-id": number, "transform": transform, "name": name}


def order(*fields) -> list[dict]:
    return [{"action": "add-sort-order", "sort-order": {"order-id": 1, "fields": list(fields)}},
            {"action": "set-default-sort-order", "sort-order-id": -1}]


def ref(name: str, snapshot: int, kind: str = "branch", **more) -> list[dict]:
    return [{"action": "set-snapshot-ref", "ref-name": name, "type": kind, "snapshot-id": snapshot,
             **more}]


UPDATES = {
    "a schema that is not there": [{"action": "set-current-schema", "schema-id": 99}],
    "the last schema, without one": [{"action": "set-current-schema", "schema-id": -1}],
    "one field id twice": new_schema(field(2, "again")),
    "one name twice": new_schema(field(9, "word")),
    "names that only differ in case": new_schema(field(9, "WORD")),
    "nested names that only differ in case": new_schema(field(9, "s", {
        "type": "struct", "fields": [field(10, "a"), field(11, "A")]})),
    "a name with a NUL": new_schema(field(9, "a\0b")),
    "an empty nested name": new_schema(field(9, "s", {"type": "struct", "fields": [field(10, "")]})),
    "a negative field id": new_schema(field(-4, "minus")),
    "a reserved field id": new_schema(field(2147483646, "far")),
    "a required field without default": new_schema(field(9, "must", required=True)),
    "an optional field that becomes required": new_schema(field(3, "point", {
        "type": "struct", "fields": [field(4, "x")]}, required=True)),
    "a field that moves into a struct": [
        {"action": "add-schema", "schema": {"type": "struct", "schema-id": 1, "fields": [
            field(1, "id", "long"), field(9, "s", {"type": "struct", "fields": [
                field(2, "word", "string")]})]}},
        {"action": "set-current-schema", "schema-id": -1}],
    "an empty name": new_schema(field(9, "")),
    "a type that is none": new_schema(field(9, "odd", "intt")),
    "a decimal that is too wide": new_schema(field(9, "odd", "decimal(39, 2)")),
    "fixed of a negative length": new_schema(field(9, "odd", "fixed[-1]")),
    "a type that cannot follow the old": [
        {"action": "add-schema", "schema": {"type": "struct", "schema-id": 1, "fields": [
            field(1, "id", "string"), field(2, "word", "string")]}},
        {"action": "set-current-schema", "schema-id": -1}],
    "an identifier field that is not there": new_schema(**{"identifier-field-ids": [55]}),
    "a column with a reserved name": new_schema(field(9, "__mask_a")),
    "a nested column with a reserved name": new_schema(field(9, "s", {
        "type": "struct", "fields": [field(10, "__masked_b")]})),
    "a reserved name in another case": new_schema(field(9, "__MASK_a")),
    "a spec that is not there": [{"action": "set-default-spec", "spec-id": 99}],
    "the last spec, without one": [{"action": "set-default-spec", "spec-id": -1}],
    "a partition of no column": new_spec(by(99, "identity")),
    "a partition of a struct": new_spec(by(3, "identity")),
    "no buckets": new_spec(by(1, "bucket[0]")),
    "a year of a number": new_spec(by(1, "year")),
    "an unknown transform": new_spec(by(1, "shuffle")),
    "one partition name twice": new_spec(by(1, "bucket[2]"), by(2, "bucket[2]", number=1001)),
    "a partition named like another column": new_spec(by(1, "bucket[2]", name="word")),
    "a partition field with a reserved name": new_spec(by(1, "bucket[2]", name="__mask_p")),
    "an order that is not there": [{"action": "set-default-sort-order", "sort-order-id": 99}],
    "an order of no column": order({"source-id": 99, "transform": "identity", "direction": "asc",
                                    "null-order": "nulls-first"}),
    "an order without direction": order({"source-id": 1, "transform": "identity",
                                         "null-order": "nulls-first"}),
    "a ref to no snapshot": ref("b", 4711),
    "a ref of no kind": ref("b", 4711, "twig"),
    "main as a tag": ref("main", 0, "tag"),
    "a ref with a reserved name": ref("__mask_ref", 0),
    "removing main's snapshot": [{"action": "remove-snapshots", "snapshot-ids": [0]}],
    "snapshot ids that are none": [{"action": "remove-snapshots", "snapshot-ids": ["x"]}],
    "a location outside of the catalog": [{"action": "set-location",
                                           "location": "s3://elsewhere/t"}],
    "a local location": [{"action": "set-location", "location": "file:///etc"}],
    "a property that is no string": [{"action": "set-properties", "updates": {"a": 1}}],
    "format version 1": [{"action": "upgrade-format-version", "format-version": 1}],
    "format version 4": [{"action": "upgrade-format-version", "format-version": 4}],
    "another uuid": [{"action": "assign-uuid", "uuid": NOBODY}],
    "a uuid that is none": [{"action": "assign-uuid", "uuid": "x"}],
    "removing the current schema": [{"action": "remove-schemas", "schema-ids": [0]}],
    "removing the default spec": [{"action": "remove-partition-specs", "spec-ids": [0]}],
    "a snapshot without a list": [{"action": "add-snapshot", "snapshot": {
        "snapshot-id": 5, "timestamp-ms": 1, "summary": {"operation": "append"}}}],
    "a snapshot of no number": [{"action": "add-snapshot", "snapshot": {
        "snapshot-id": "five", "timestamp-ms": 1, "manifest-list": "x",
        "summary": {"operation": "append"}}}],
    "a snapshot beyond 63 bits": [{"action": "add-snapshot", "snapshot": {
        "snapshot-id": 2**63, "timestamp-ms": 1, "manifest-list": "x",
        "summary": {"operation": "append"}}}],
}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_that_contradict(server, refused, name):
    current = server.load(SPACE, "t")["metadata"]["current-snapshot-id"]
    updates = json.loads(json.dumps(UPDATES[name]))
    for update in updates:
        if update.get("snapshot-id") == 0:
            update["snapshot-id"] = current
        if update.get("snapshot-ids") == [0]:
            update["snapshot-ids"] = [current]
    refused(post(server, SPACE, "t", {"requirements": [], "updates": updates}), 400)
    # In a transaction over tables as well, with a good change of another table beside it.
    changes = [
        {"identifier": {"namespace": [SPACE], "name": "other"}, "requirements": [],
         "updates": [{"action": "set-properties", "updates": {"beside": "it"}}]},
        {"identifier": {"namespace": [SPACE], "name": "t"}, "requirements": [], "updates": updates}]
    refused(Writer(server).post("/transactions/commit", {"table-changes": changes}), 400)


RESERVED = {"duckicelake.owner": "me"}


def test_reserved_properties_are_forbidden_by_every_route(server, refused):
    writer = Writer(server)
    tables = f"/namespaces/{SPACE}/tables"
    schema = schema_with()
    for staged in (False, True):
        refused(writer.post(tables, {"name": "n", "schema": schema, "properties": RESERVED,
                                     "stage-create": staged}), 403)
    for update in ({"action": "set-properties", "updates": RESERVED},
                   {"action": "remove-properties", "removals": list(RESERVED)}):
        body = {"requirements": [], "updates": [update]}
        refused(post(server, SPACE, "t", body), 403)
        change = {"identifier": {"namespace": [SPACE], "name": "t"}, **body}
        refused(writer.post("/transactions/commit", {"table-changes": [change]}), 403)


def test_reserved_names_are_refused_by_every_route(server, refused):
    writer = Writer(server)
    tables = f"/namespaces/{SPACE}/tables"
    for staged in (False, True):
        refused(writer.post(tables, {"name": "__mask_t", "schema": schema_with(),
                                     "stage-create": staged}), 400)
        refused(writer.post(tables, {"name": "n", "schema": schema_with(field(3, "__mask_c")),
                                     "stage-create": staged}), 400)
        refused(writer.post(tables, {"name": "n", "schema": schema_with(), "stage-create": staged,
                                     "partition-spec": {"spec-id": 0, "fields": [
                                         by(1, "bucket[2]", name="__masked_p")]}}), 400)
    refused(writer.rename("tables", (SPACE, "t"), (SPACE, "__masked_t")), 400)
    refused(post(server, SPACE, "__mask_new", {
        "requirements": [{"type": "assert-create"}],
        "updates": new_schema() + [{"action": "assign-uuid", "uuid": NOBODY}]}), 400)
    location = server.load(SPACE, "t")["metadata-location"]
    refused(writer.post(f"/namespaces/{SPACE}/register",
                        {"name": "__mask_r", "metadata-location": location}), 400)


def test_tables_and_namespaces_that_are_not_there(server, refused):
    """Case A-11, for every way to create a table."""
    writer = Writer(server)
    create = {"name": "t", "schema": schema_with()}
    refused(writer.post("/namespaces/nowhere/tables", create), 404, kind="NoSuchNamespaceException")
    refused(writer.post("/namespaces/nowhere/tables", create | {"stage-create": True}), 404,
            kind="NoSuchNamespaceException")
    refused(writer.post("/namespaces/nowhere/register", {
        "name": "t", "metadata-location": server.load(SPACE, "t")["metadata-location"]}), 404,
        kind="NoSuchNamespaceException")
    refused(post(server, "nowhere", "t", requirement("assert-create")), 404,
            kind="NoSuchNamespaceException")
    refused(post(server, SPACE, "nothing", {"requirements": [], "updates": []}), 404,
            kind="NoSuchTableException")


def test_a_table_named_twice_in_one_transaction(server, refused):
    """Case A-17: both in order, or refused; never only the last."""
    change = {"identifier": {"namespace": [SPACE], "name": "t"}, "requirements": [],
              "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
    refused(Writer(server).post("/transactions/commit", {"table-changes": [change, change]}), 400)


def test_register_of_what_is_no_metadata(server, good, refused):
    writer, path = Writer(server), f"/namespaces/{SPACE}/register"
    location = server.load(SPACE, "t")["metadata-location"]
    text = good.bytes(location)
    places = [good.put(text[:n], "x.metadata.json") for n in (0, 1, len(text) // 2)]
    places += [good.put(b"{}", "x.metadata.json"), good.put(b"[]", "x.metadata.json"),
               good.location + "/metadata/none.metadata.json", "s3://elsewhere/x.metadata.json",
               "file:///etc/passwd", good.snapshot["manifest-list"], "", "x"]
    wrong = json.loads(text)
    for change in ({"format-version": 9}, {"current-schema-id": 77}, {"location": "s3://else/w"},
                   {"schemas": []}, {"default-spec-id": 5}, {"table-uuid": "no"},
                   {"current-snapshot-id": 4711}, {"last-column-id": -1}):
        places.append(good.put(json.dumps(wrong | change).encode(), "x.metadata.json"))
    for place in places:
        refused(writer.post(path, {"name": "again", "metadata-location": place}), 400, 406)
    # A living table and its files are not given away, under its own uuid or under another.
    refused(writer.post(path, {"name": "again", "metadata-location": location}), 400, 409)
    own = json.loads(text) | {"table-uuid": NOBODY}
    stolen = good.put(json.dumps(own).encode(), "x.metadata.json")
    refused(writer.post(path, {"name": "again", "metadata-location": stolen}), 400)


def test_a_new_table_with_the_uuid_of_a_living_one(server, refused):
    """What only Iceberg names lies in a folder by the table's uuid: two tables cannot share it."""
    uuid = server.load(SPACE, "t")["metadata"]["table-uuid"]
    refused(post(server, SPACE, "twin", {"requirements": [{"type": "assert-create"}], "updates": [
        {"action": "assign-uuid", "uuid": uuid}, *new_schema(), *new_spec()]}), 409)


# -- manifest lists and manifests -----------------------------------------------------------------

def set_path(uri):
    return lambda draft: draft.snapshot.update({"manifest-list": uri(draft)})


def in_list(**members):
    def change(draft):
        def edit(records, _header):
            own = draft.snapshot["snapshot-id"]
            next(r for r in records if r["added_snapshot_id"] == own).update(members)
        draft.edit_list(edit)
    return change


def in_entry(edit, **options):
    def change(draft):
        def each(records, header):
            for record in records:
                if record["status"] == 1:
                    edit(record, draft)
        draft.edit_manifests(each, **options)
    return change


def of_file(**members):
    return in_entry(lambda record, _: record["data_file"].update(members))


def without_parent(draft):
    own = draft.snapshot["snapshot-id"]

    def edit(records, _header):
        records[:] = [r for r in records if r["added_snapshot_id"] == own]
    draft.edit_list(edit)


def twice(records, _header):
    records.append(dict(records[-1]))


def foreign_list(draft):
    other = draft.server.load(SPACE, "other")["metadata"]["snapshots"][-1]
    return other["manifest-list"]


def foreign_manifest(draft):
    """The manifest of another table, brought under this one's location."""
    _, records, _ = draft.avro(foreign_list(draft))
    content = draft.bytes(records[0]["manifest_path"])
    draft.set_manifest(content, added_files_count=records[0]["added_files_count"],
                       added_rows_count=records[0]["added_rows_count"])


def live_path(draft) -> str:
    """A file that is part of the table already."""
    _, lists, _ = draft.avro(draft.server.load(SPACE, "t")["metadata"]["snapshots"][-1][
        "manifest-list"])
    for manifest in lists:
        _, entries, _ = draft.avro(manifest["manifest_path"])
        for entry in entries:
            if entry["status"] != 2:
                return entry["data_file"]["file_path"]
    raise AssertionError


def dead_path(draft) -> str:
    _, lists, _ = draft.avro(draft.server.load(SPACE, "t")["metadata"]["snapshots"][0][
        "manifest-list"])
    _, entries, _ = draft.avro(lists[0]["manifest_path"])
    return entries[0]["data_file"]["file_path"]


def header_with(content: bytes, **pairs: bytes) -> bytes:
    """An Avro file of one empty header map with these pairs and a sync marker."""
    out = io.BytesIO()
    out.write(b"Obj\x01" + long_bytes(len(pairs)))
    for name, value in pairs.items():
        key = name.replace("_", ".", 1).encode()
        out.write(long_bytes(len(key)) + key + long_bytes(len(value)) + value)
    out.write(b"\x00" + bytes(16) + content)
    return out.getvalue()


def long_bytes(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def schema_of(draft, uri) -> bytes:
    return draft.avro(uri)[2]["avro.schema"].encode()


def bomb(draft) -> bytes:
    """A block that says 2^20 records and inflates to half a gigabyte."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = b"".join(deflate.compress(bytes(1 << 20)) for _ in range(512)) + deflate.flush()
    block = long_bytes(1 << 20) + long_bytes(len(body)) + body + bytes(16)
    return header_with(block, avro_schema=schema_of(draft, draft.snapshot["manifest-list"]),
                       avro_codec=b"deflate")


def says(draft, count: int, size: int, codec: bytes = b"null") -> bytes:
    return header_with(long_bytes(count) + long_bytes(size) + b"abc" + bytes(16),
                       avro_schema=schema_of(draft, draft.snapshot["manifest-list"]),
                       avro_codec=codec)


def other_schema(draft) -> bytes:
    schema = {"type": "record", "name": "x", "fields": [{"name": "a", "type": "long"}]}
    return Draft.encode(schema, [{"a": 1}], {})


LISTS = {
    "is not there": set_path(lambda d: d.location + "/metadata/none.avro"),
    "has no path": set_path(lambda d: ""),
    "lies in another bucket": set_path(lambda d: "s3://elsewhere/x.avro"),
    "lies in another table": set_path(foreign_list),
    "lies beside the table": set_path(lambda d: d.put(d.bytes(d.snapshot["manifest-list"]),
                                                      folder=d.location + "x/metadata")),
    "climbs out": set_path(lambda d: d.location + "/../other/metadata/x.avro"),
    "is a local file": set_path(lambda d: "file:///etc/passwd"),
    "is a bare path": set_path(lambda d: "/etc/passwd"),
    "is a web page": set_path(lambda d: "http://127.0.0.1:1/x.avro"),
    "is empty": lambda d: d.set_list(b""),
    "is no Avro": lambda d: d.set_list(b"PAR1" * 100),
    "is JSON": lambda d: d.set_list(b"{}"),
    "is truncated": lambda d: d.set_list(d.bytes(d.snapshot["manifest-list"])[:-20]),
    "ends in its header": lambda d: d.set_list(d.bytes(d.snapshot["manifest-list"])[:50]),
    "has another schema": lambda d: d.set_list(other_schema(d)),
    "is a manifest": lambda d: d.set_list(d.bytes(d.new_manifests()[0]["manifest_path"])),
    "has an unknown codec": lambda d: d.set_list(says(d, 1, 3, b"lzma9")),
    "says 2^40 records": lambda d: d.set_list(says(d, 1 << 40, 3)),
    "says a gigabyte": lambda d: d.set_list(says(d, 1, 1 << 30)),
    "says a negative size": lambda d: d.set_list(says(d, 1, -5)),
    "says a negative count": lambda d: d.set_list(says(d, -7, 3)),
    "has a broken deflate stream": lambda d: d.set_list(says(d, 1, 3, b"deflate")),
    "is a bomb": lambda d: d.set_list(bomb(d)),
    "forgets what was there": without_parent,
    "lists a manifest twice": lambda d: d.edit_list(twice),
    "counts one file more": in_list(added_files_count=2),
    "counts one row more": in_list(added_rows_count=6),
    "counts negative rows": in_list(added_rows_count=-5),
    "says deletes for data": in_list(content=1),
    "says content 9": in_list(content=9),
    "says another spec": in_list(partition_spec_id=1),
    "says another snapshot": in_list(added_snapshot_id=4711),
}
MANIFESTS = {
    "is not there": lambda d: d.edit_list(lambda rs, _: rs[0 if rs[0][
        "added_snapshot_id"] == d.snapshot["snapshot-id"] else -1].update(
            manifest_path=d.location + "/metadata/none.avro")),
    "is empty": lambda d: d.set_manifest(b""),
    "is truncated": lambda d: d.set_manifest(d.bytes(d.new_manifests()[0]["manifest_path"])[:-9]),
    "has another schema": lambda d: d.set_manifest(other_schema(d)),
    "is a list": lambda d: d.set_manifest(d.bytes(d.snapshot["manifest-list"])),
    "is of another table": foreign_manifest,
    "has a spec that is none": lambda d: d.edit_manifests(
        lambda _, header: header.update({"partition-spec": "{}"})),
    "has a spec that the table has not": lambda d: d.edit_manifests(
        lambda _, header: header.update({"partition-spec-id": "7"})),
    "says deletes": lambda d: d.edit_manifests(lambda _, header: header.update(content="deletes")),
    "has no schema": lambda d: d.edit_manifests(lambda _, header: header.pop("schema") and None),
    "adds a file twice": lambda d: d.edit_manifests(lambda rs, _: rs.append(rs[0])),
    "adds a live file": in_entry(lambda r, d: r["data_file"].update(file_path=live_path(d))),
    "adds a file of the past": in_entry(lambda r, d: r["data_file"].update(file_path=dead_path(d))),
    "adds a file of another table": in_entry(lambda r, d: r["data_file"].update(
        file_path=d.location.rsplit("/", 1)[0] + "/other/data/x.parquet")),
    "adds a file of another bucket": of_file(file_path="s3://elsewhere/x.parquet"),
    "adds a file that climbs out": in_entry(lambda r, d: r["data_file"].update(
        file_path=d.location + "/data/../../other/x.parquet")),
    "adds a local file": of_file(file_path="file:///etc/passwd"),
    "adds a bare path": of_file(file_path="/etc/passwd"),
    "adds an empty path": of_file(file_path=""),
    "adds the folder": in_entry(lambda r, d: r["data_file"].update(file_path=d.location + "/")),
    "adds a path with a NUL": in_entry(lambda r, d: r["data_file"].update(
        file_path=d.location + "/data/a\0b.parquet")),
    "adds ORC": of_file(file_format="ORC"),
    "adds a format that is none": of_file(file_format="XYZ"),
    "adds deletes among data": of_file(content=1),
    "has a negative record count": of_file(record_count=-1),
    "has a negative size": of_file(file_size_in_bytes=-1),
    "has an unknown status": in_entry(lambda r, _: r.update(status=7), counts=False),
    "has an entry of another snapshot": in_entry(lambda r, _: r.update(snapshot_id=4711)),
    "keeps a file that was not there": in_entry(lambda r, _: r.update(status=0)),
    "removes a file that was not there": in_entry(lambda r, _: r.update(status=2)),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_manifest_list_that(good, refused, name):
    draft = good.copy()
    LISTS[name](draft)
    refused(draft.post(), 400)


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_that(good, refused, name):
    draft = good.copy()
    MANIFESTS[name](draft)
    refused(draft.post(), 400)


def test_a_manifest_list_cut_at_every_length(good, refused):
    whole = good.bytes(good.snapshot["manifest-list"])
    for length in range(0, len(whole), max(1, len(whole) // 25)):
        draft = good.copy()
        draft.set_list(whole[:length])
        refused(draft.post(), 400)


def test_a_manifest_with_bytes_changed(good, refused):
    """Any outcome but a crash or a 5xx; what is accepted would be taken with the requirement."""
    dice = random.Random(11)
    whole = good.bytes(good.new_manifests()[0]["manifest_path"])
    for _ in range(25):
        content = bytearray(whole)
        for _ in range(dice.randint(1, 3)):
            content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        draft = good.copy()
        draft.set_manifest(bytes(content))
        # A second update that is refused in any case: the change may have hit nothing of weight.
        draft.body["updates"].append({"action": "set-default-spec", "spec-id": 99})
        refused(draft.post(), 400)


DELETES = {
    "removes a file twice": lambda rs: rs.extend([dict(r) for r in rs if r["status"] == 2]),
    "removes another file": lambda rs: [r["data_file"].update(
        file_path=r["data_file"]["file_path"] + "x") for r in rs if r["status"] == 2][:0],
    "forgets the removed file": lambda rs: [rs.remove(r) for r in list(rs) if r["status"] == 2][:0],
}


@pytest.mark.parametrize("name", DELETES)
def test_a_delete_that(good_delete, refused, name):
    draft = good_delete.copy()
    draft.edit_manifests(lambda records, _: DELETES[name](records) or None)
    refused(draft.post(), 400)


def position_deletes(draft, path: str, positions: list[int], target: str | None = None) -> None:
    """Makes the draft's data manifest one of position deletes in a Parquet file."""
    import pyarrow.parquet as pq
    out = io.BytesIO()
    schema = pa.schema([
        pa.field("file_path", pa.string(), False, {"PARQUET:field_id": "2147483546"}),
        pa.field("pos", pa.int64(), False, {"PARQUET:field_id": "2147483545"})])
    pq.write_table(pa.table({"file_path": [path] * len(positions), "pos": positions},
                            schema=schema), out)
    uri = draft.put(out.getvalue(), "deletes.parquet", draft.location + "/data")

    def change(records, header):
        header["content"] = "deletes"
        for record in records:
            record["data_file"].update(content=1, file_path=target or uri,
                                       record_count=len(positions), lower_bounds=[], upper_bounds=[],
                                       file_size_in_bytes=len(out.getvalue()))
    draft.edit_manifests(change)
    in_list(content=1)(draft)


def test_position_deletes_that_hit_nothing_of_the_table(good, refused):
    draft = good.copy()
    position_deletes(draft, draft.location + "/data/unknown.parquet", [0])
    refused(draft.post(), 400)
    draft = good.copy()
    position_deletes(draft, live_path(draft), [0], draft.location + "/data/gone.parquet")
    refused(draft.post(), 400)
    draft = good.copy()
    position_deletes(draft, live_path(draft), [0], good.snapshot["manifest-list"])
    refused(draft.post(), 400)


def test_position_deletes_that_are_right_are_taken(server, catalog):
    """The same forgery with nothing wrong in it: so the refusals above are for what they say."""
    catalog.create_table((SPACE, "right"), SCHEMA).append(rows(0, 5))
    draft = Draft(server, SPACE, "right", lambda t: t.append(rows(9, 10)))
    _, lists, _ = draft.avro(server.load(SPACE, "right")["metadata"]["snapshots"][-1][
        "manifest-list"])
    path = draft.avro(lists[0]["manifest_path"])[1][0]["data_file"]["file_path"]
    position_deletes(draft, path, [1, 3])
    assert draft.post().status_code == 200
    found = server.lake.session().execute(f"SELECT id FROM lake.{SPACE}.right ORDER BY id").fetchall()
    assert [row[0] for row in found] == [0, 2, 4]
    assert catalog.load_table((SPACE, "right")).scan().to_arrow()["id"].to_pylist() == [0, 2, 4]


# -- again ----------------------------------------------------------------------------------------

def test_the_same_snapshot_again_has_the_same_outcome(server, catalog):
    catalog.create_table((SPACE, "again"), SCHEMA)
    draft = Draft(server, SPACE, "again", lambda t: t.append(rows(0, 5)))
    first = draft.post()
    assert first.status_code == 200, first.text
    head = server.lake.head()
    for _ in range(2):
        again = draft.post()
        assert (again.status_code, again.json()) == (200, first.json())
    assert server.lake.head() == head
    catalog.load_table((SPACE, "again")).append(rows(5, 7))  # others go on
    head = server.lake.head()
    assert draft.post().status_code == 200
    assert server.lake.head() == head
    other = draft.copy()
    other.set_list(other.bytes(other.snapshot["manifest-list"]))
    answer = other.post()
    assert answer.status_code in (400, 409), answer.text
    error_of(answer, answer.status_code)
    assert server.lake.head() == head
    assert server.lake.session().execute(
        f"SELECT count(*) FROM lake.{SPACE}.again").fetchone() == (7,)


def test_two_snapshots_of_one_id_in_one_commit(good, refused):
    draft = good.copy()
    draft.body["updates"] += [u for u in good.copy().body["updates"]
                              if u["action"] == "add-snapshot"]
    refused(draft.post(), 400)


def test_an_idempotency_key_is_answered_once(server, catalog):
    catalog.create_table((SPACE, "keyed"), SCHEMA)
    draft = Draft(server, SPACE, "keyed", lambda t: t.append(rows(0, 5)))
    key = uuid7()
    first = draft.post(key=key)
    assert first.status_code == 200, first.text
    head = server.lake.head()
    again = draft.post(key=key)
    assert (again.status_code, again.json()) == (200, first.json())
    properties = {"requirements": [], "updates": [{"action": "set-properties",
                                                   "updates": {"a": "b"}}]}
    answer = post(server, SPACE, "keyed", properties, key=key)
    assert 400 <= answer.status_code < 500, answer.text
    error_of(answer, answer.status_code)
    assert server.lake.head() == head
    # Without a snapshot there is nothing but the key to know the request by.
    key = uuid7()
    assert post(server, SPACE, "keyed", properties, key=key).status_code == 200
    catalog.load_table((SPACE, "keyed")).transaction().set_properties(a="c").commit_transaction()
    assert post(server, SPACE, "keyed", properties, key=key).status_code == 200
    assert catalog.load_table((SPACE, "keyed")).properties["a"] == "c"
    # A refusal is an outcome, too.
    key = uuid7()
    wrong = requirement("assert-table-uuid", uuid=NOBODY)
    answers = [post(server, SPACE, "keyed", wrong, key=key) for _ in range(2)]
    assert [a.status_code for a in answers] == [409, 409]
    assert answers[0].json() == answers[1].json()


# -- cases ----------------------------------------------------------------------------------------

def test_null_members_count_as_absent(server, catalog):
    """Case A-14."""
    answer = Writer(server).post(f"/namespaces/{SPACE}/tables", {
        "name": "nulls", "schema": schema_with(), "properties": None, "location": None,
        "write-order": None, "partition-spec": None, "stage-create": None})
    assert answer.status_code == 200, answer.text
    answer = post(server, SPACE, "nulls", {"identifier": None, "requirements": None,
                                           "updates": None})
    assert answer.status_code == 200, answer.text


def test_the_last_property_goes(server, catalog):
    """Case A-15."""
    catalog.create_table((SPACE, "props"), SCHEMA, properties={"only": "one"})
    remove = {"requirements": [], "updates": [{"action": "remove-properties",
                                               "removals": ["only", "missing"]}]}
    for _ in range(2):
        assert post(server, SPACE, "props", remove).status_code == 200
        assert "only" not in server.load(SPACE, "props")["metadata"]["properties"]


def test_several_changes_of_refs_in_one_commit(server, catalog):
    """Case A-16: in order, all or nothing."""
    table = catalog.create_table((SPACE, "refs"), SCHEMA)
    table.append(rows(0, 3))
    table.append(rows(3, 6))
    ids = [s.snapshot_id for s in catalog.load_table((SPACE, "refs")).metadata.snapshots]
    body = {"requirements": [], "updates": [
        *ref("x", ids[0], "tag"), {"action": "remove-snapshot-ref", "ref-name": "x"},
        *ref("y", ids[0], "tag"), *ref("main", ids[0])]}
    assert post(server, SPACE, "refs", body).status_code == 200
    found = server.load(SPACE, "refs")["metadata"]["refs"]
    assert set(found) == {"main", "y"} and found["y"]["snapshot-id"] == ids[0]
    assert server.lake.session().execute(
        f"SELECT count(*) FROM lake.{SPACE}.refs").fetchone() == (3,)
    body["updates"] = [*ref("z", ids[0], "tag"), *ref("q", 4711, "tag")]
    assert post(server, SPACE, "refs", body).status_code == 400
    assert set(server.load(SPACE, "refs")["metadata"]["refs"]) == {"main", "y"}


def test_a_staged_table_is_not_there(server, catalog):
    """Case A-23: invisible, the name free; of two that are staged at once one is created."""
    writer, path = Writer(server), f"/namespaces/{SPACE}/tables"
    body = {"name": "staged", "schema": schema_with(), "stage-create": True}
    head = server.lake.head()
    staged = [writer.post(path, body) for _ in range(2)]
    assert [a.status_code for a in staged] == [200, 200]
    assert server.lake.head() == head
    assert server.get(f"{path}/staged").status_code == 404
    assert "staged" not in {i["name"] for i in server.get(path).json()["identifiers"]}
    answers = []
    for made in (a.json()["metadata"] for a in staged):
        answers.append(post(server, SPACE, "staged", {
            "requirements": [{"type": "assert-create"}], "updates": [
                {"action": "assign-uuid", "uuid": made["table-uuid"]},
                {"action": "upgrade-format-version", "format-version": 2},
                {"action": "add-schema", "schema": made["schemas"][0]},
                {"action": "set-current-schema", "schema-id": -1},
                {"action": "add-spec", "spec": made["partition-specs"][0]},
                {"action": "set-default-spec", "spec-id": -1},
                {"action": "add-sort-order", "sort-order": made["sort-orders"][0]},
                {"action": "set-default-sort-order", "sort-order-id": -1},
                {"action": "set-location", "location": made["location"]},
                {"action": "set-properties", "updates": made["properties"]}]}))
    assert [a.status_code for a in answers] == [200, 409], [a.text[:300] for a in answers]
    assert answers[0].json()["metadata"]["table-uuid"] == staged[0].json()["metadata"]["table-uuid"]


def test_at_the_end_the_good_commit_is_taken(server, catalog, good):
    """None of the refusals above left anything behind that stands in its way."""
    draft = Draft(server, SPACE, "t", lambda t: t.append(rows(100, 105)))
    assert draft.post().status_code == 200
    count = server.lake.session().execute(f"SELECT count(*) FROM lake.{SPACE}.t").fetchone()
    assert count == (15,)
