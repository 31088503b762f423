// Object bytes: the one way from a conformed Document to stored bytes, and from stored bytes to what clients read.
//
// Stored bytes are JSON of the storage version without kind and apiVersion, metadata first, with a hole where the value
// of metadata.resourceVersion goes (store.h). Reading splices; nothing here parses unless the served version has
// another shape than the stored one. Custom resources that a webhook converts say their apiVersion, last: the storage
// version may have been another one when they were written. Pure, but for what such a webhook is asked; any thread.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/request/object_key.h"
#include "apiserver/strategies/strategy.h"
#include "sublet/schema/document.h"
#include "sublet/schema/table.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

/// Turns an object of the storage version into what is stored. Brings it into upstream's form (schema::conform), drops
/// kind and apiVersion, and fills the index. `root` is changed.
/// `none`: for what is only shown, without a revision of its own.
enum class StoredVersion : unsigned char { hole, none };
Result<store::Put> make_put(schema::Value root, const schema::ResourceFacts& storage, const Strategy& strategy,
                            StoredVersion version = StoredVersion::hole);
/// A selectable field's value in an object, as its selector would spell it.
std::string field_text(const schema::Value& object, const SelectableField& field);

/// The JSON text of `object` with kind and apiVersion of `served` in front, which must have the stored shape.
void append_typed_json(std::string& out, std::string_view prefix, const store::Object& object);
/// The text of the metadata object within the stored bytes, with the revision filled in.
std::string metadata_json(const store::Object& object);

/// The stored object as a tree, without kind and apiVersion, resourceVersion filled in.
Result<schema::Document> stored_document(const store::Object& object);
/// The same of the object at `key`; nullopt: it is absent or unreadable.
std::optional<schema::Document> read_stored(const store::Snapshot& state, const std::string& key);
/// The stored object as a tree in the served version, with kind and apiVersion in front.
Result<schema::Document> served_document(const store::Object& object, const Route& route);
/// What the verbs of the route work on: what is stored, or, when somebody else converts it, the served version.
Result<schema::Document> working_document(const store::Object& object, const Route& route);
/// Takes the apiVersion off the stored text of an object, if it says one.
std::string take_version(std::string& text);

}  // namespace sublet::apiserver
