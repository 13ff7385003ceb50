// SPDX-License-Identifier: Apache-2.0
#include "rest/openapi.h"

namespace duckicelake::rest {

// As the Iceberg REST specification has them, cut down to what the routes answer.
std::string_view openapi_schemas() {
  static constexpr std::string_view kSchemas = R"json({
"ErrorModel":{"type":"object","required":["message","type","code"],"properties":{
 "message":{"type":"string"},
 "type":{"type":"string","description":"Exception name","examples":["NoSuchTableException"]},
 "code":{"type":"integer","minimum":400,"maximum":599,"description":"HTTP status"}}},
"IcebergErrorResponse":{"type":"object","required":["error"],"additionalProperties":false,
 "properties":{"error":{"$ref":"#/components/schemas/ErrorModel"}}},
"StringMap":{"type":"object","additionalProperties":{"type":"string"}},
"CatalogConfig":{"type":"object","required":["defaults","overrides"],"properties":{
 "defaults":{"$ref":"#/components/schemas/StringMap"},
 "overrides":{"$ref":"#/components/schemas/StringMap"},
 "endpoints":{"type":"array","items":{"type":"string"},"description":"<method> <path template>"}}},
"Health":{"type":"object","required":["status"],"properties":{
 "status":{"type":"string","enum":["ok","ready","not-ready"]},"reason":{"type":"string"}}},
"OpenApi":{"type":"object","required":["openapi","info","paths"],"additionalProperties":true},
"Namespace":{"type":"array","items":{"type":"string"},"minItems":1,"description":"The levels"},
"PageToken":{"type":["string","null"],"description":"null on the last page; absent when all was asked for"},
"TableIdentifier":{"type":"object","required":["namespace","name"],"properties":{
 "namespace":{"$ref":"#/components/schemas/Namespace"},"name":{"type":"string"}}},
"ListNamespacesResponse":{"type":"object","properties":{
 "next-page-token":{"$ref":"#/components/schemas/PageToken"},
 "namespaces":{"type":"array","items":{"$ref":"#/components/schemas/Namespace"},"uniqueItems":true}}},
"GetNamespaceResponse":{"type":"object","required":["namespace"],"properties":{
 "namespace":{"$ref":"#/components/schemas/Namespace"},
 "properties":{"$ref":"#/components/schemas/StringMap"}}},
"ListTablesResponse":{"type":"object","properties":{
 "next-page-token":{"$ref":"#/components/schemas/PageToken"},
 "identifiers":{"type":"array","items":{"$ref":"#/components/schemas/TableIdentifier"},"uniqueItems":true}}},
"LoadTableResult":{"type":"object","required":["metadata"],"properties":{
 "metadata-location":{"type":"string"},
 "metadata":{"$ref":"#/components/schemas/TableMetadata"},
 "config":{"$ref":"#/components/schemas/StringMap"}}},
"Type":{"oneOf":[{"type":"string","examples":["long","decimal(9,2)"]},
 {"$ref":"#/components/schemas/StructType"},{"$ref":"#/components/schemas/ListType"},
 {"$ref":"#/components/schemas/MapType"}]},
"StructField":{"type":"object","required":["id","name","type","required"],"properties":{
 "id":{"type":"integer"},"name":{"type":"string"},"type":{"$ref":"#/components/schemas/Type"},
 "required":{"type":"boolean"},"doc":{"type":"string"},"initial-default":{},"write-default":{}}},
"StructType":{"type":"object","required":["type","fields"],"properties":{
 "type":{"const":"struct"},
 "fields":{"type":"array","items":{"$ref":"#/components/schemas/StructField"}}}},
"ListType":{"type":"object","required":["type","element-id","element","element-required"],"properties":{
 "type":{"const":"list"},"element-id":{"type":"integer"},
 "element":{"$ref":"#/components/schemas/Type"},"element-required":{"type":"boolean"}}},
"MapType":{"type":"object","required":["type","key-id","key","value-id","value","value-required"],"properties":{
 "type":{"const":"map"},"key-id":{"type":"integer"},"key":{"$ref":"#/components/schemas/Type"},
 "value-id":{"type":"integer"},"value":{"$ref":"#/components/schemas/Type"},
 "value-required":{"type":"boolean"}}},
"Schema":{"allOf":[{"$ref":"#/components/schemas/StructType"},{"type":"object","properties":{
 "schema-id":{"type":"integer"},
 "identifier-field-ids":{"type":"array","items":{"type":"integer"}}}}]},
"PartitionField":{"type":"object","required":["source-id","transform","name"],"properties":{
 "field-id":{"type":"integer"},"source-id":{"type":"integer"},"name":{"type":"string"},
 "transform":{"type":"string","examples":["identity","bucket[16]","day"]}}},
"PartitionSpec":{"type":"object","required":["fields"],"properties":{
 "spec-id":{"type":"integer"},
 "fields":{"type":"array","items":{"$ref":"#/components/schemas/PartitionField"}}}},
"SortField":{"type":"object","required":["source-id","transform","direction","null-order"],"properties":{
 "source-id":{"type":"integer"},"transform":{"type":"string"},
 "direction":{"type":"string","enum":["asc","desc"]},
 "null-order":{"type":"string","enum":["nulls-first","nulls-last"]}}},
"SortOrder":{"type":"object","required":["order-id","fields"],"properties":{
 "order-id":{"type":"integer"},
 "fields":{"type":"array","items":{"$ref":"#/components/schemas/SortField"}}}},
"Snapshot":{"type":"object","required":["snapshot-id","timestamp-ms","manifest-list","summary"],"properties":{
 "snapshot-id":{"type":"integer","format":"int64"},
 "parent-snapshot-id":{"type":"integer","format":"int64"},
 "sequence-number":{"type":"integer","format":"int64"},
 "timestamp-ms":{"type":"integer","format":"int64"},
 "manifest-list":{"type":"string"},
 "first-row-id":{"type":"integer","format":"int64"},
 "added-rows":{"type":"integer","format":"int64"},
 "summary":{"type":"object","required":["operation"],"properties":{
  "operation":{"type":"string","enum":["append","replace","overwrite","delete"]}},
  "additionalProperties":{"type":"string"}},
 "schema-id":{"type":"integer"}}},
"SnapshotReference":{"type":"object","required":["type","snapshot-id"],"properties":{
 "type":{"type":"string","enum":["tag","branch"]},
 "snapshot-id":{"type":"integer","format":"int64"},
 "max-ref-age-ms":{"type":"integer","format":"int64"},
 "max-snapshot-age-ms":{"type":"integer","format":"int64"},
 "min-snapshots-to-keep":{"type":"integer"}}},
"SnapshotLog":{"type":"array","items":{"type":"object","required":["snapshot-id","timestamp-ms"],"properties":{
 "snapshot-id":{"type":"integer","format":"int64"},"timestamp-ms":{"type":"integer","format":"int64"}}}},
"MetadataLog":{"type":"array","items":{"type":"object","required":["metadata-file","timestamp-ms"],"properties":{
 "metadata-file":{"type":"string"},"timestamp-ms":{"type":"integer","format":"int64"}}}},
"TableMetadata":{"type":"object","required":["format-version","table-uuid"],"properties":{
 "format-version":{"type":"integer","minimum":2,"maximum":3},
 "table-uuid":{"type":"string"},
 "location":{"type":"string"},
 "last-updated-ms":{"type":"integer","format":"int64"},
 "next-row-id":{"type":"integer","format":"int64"},
 "properties":{"$ref":"#/components/schemas/StringMap"},
 "schemas":{"type":"array","items":{"$ref":"#/components/schemas/Schema"}},
 "current-schema-id":{"type":"integer"},
 "last-column-id":{"type":"integer"},
 "partition-specs":{"type":"array","items":{"$ref":"#/components/schemas/PartitionSpec"}},
 "default-spec-id":{"type":"integer"},
 "last-partition-id":{"type":"integer"},
 "sort-orders":{"type":"array","items":{"$ref":"#/components/schemas/SortOrder"}},
 "default-sort-order-id":{"type":"integer"},
 "snapshots":{"type":"array","items":{"$ref":"#/components/schemas/Snapshot"}},
 "refs":{"type":"object","additionalProperties":{"$ref":"#/components/schemas/SnapshotReference"}},
 "current-snapshot-id":{"type":"integer","format":"int64"},
 "last-sequence-number":{"type":"integer","format":"int64"},
 "snapshot-log":{"$ref":"#/components/schemas/SnapshotLog"},
 "metadata-log":{"$ref":"#/components/schemas/MetadataLog"}}},
"SQLViewRepresentation":{"type":"object","required":["type","sql","dialect"],"properties":{
 "type":{"type":"string"},"sql":{"type":"string"},"dialect":{"type":"string"}}},
"ViewVersion":{"type":"object",
 "required":["version-id","timestamp-ms","schema-id","summary","representations","default-namespace"],
 "properties":{
 "version-id":{"type":"integer"},"timestamp-ms":{"type":"integer","format":"int64"},
 "schema-id":{"type":"integer"},"summary":{"$ref":"#/components/schemas/StringMap"},
 "representations":{"type":"array","items":{"$ref":"#/components/schemas/SQLViewRepresentation"}},
 "default-catalog":{"type":"string"},
 "default-namespace":{"$ref":"#/components/schemas/Namespace"}}},
"ViewMetadata":{"type":"object",
 "required":["view-uuid","format-version","location","current-version-id","versions","version-log","schemas"],
 "properties":{
 "view-uuid":{"type":"string"},"format-version":{"type":"integer","minimum":1,"maximum":1},
 "location":{"type":"string"},"current-version-id":{"type":"integer"},
 "versions":{"type":"array","items":{"$ref":"#/components/schemas/ViewVersion"}},
 "version-log":{"type":"array","items":{"type":"object","required":["version-id","timestamp-ms"],
  "properties":{"version-id":{"type":"integer"},"timestamp-ms":{"type":"integer","format":"int64"}}}},
 "schemas":{"type":"array","items":{"$ref":"#/components/schemas/Schema"}},
 "properties":{"$ref":"#/components/schemas/StringMap"}}},
"LoadViewResult":{"type":"object","required":["metadata-location","metadata"],"properties":{
 "metadata-location":{"type":"string"},
 "metadata":{"$ref":"#/components/schemas/ViewMetadata"},
 "config":{"$ref":"#/components/schemas/StringMap"}}}
})json";
  return kSchemas;
}

}  // namespace duckicelake::rest
