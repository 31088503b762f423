// stored_object: what controllers read of a stored object without parsing all of it, and how indexes find objects.
//
// Pure functions; any thread. Objects are in the storage version, without apiVersion and kind.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "sublet/kube/client.h"
#include "sublet/schema/document.h"
#include "sublet/store/object.h"

namespace sublet::controllers {

/// The indexes of a kind.
enum class By {
  uid,
  owner,           // the uid of any of its owners
  orphan,          // its namespace, when no owner controls it
  node,            // spec.nodeName
  label,           // any of its labels, within a namespace
  map_selector,    // the labels that its spec.selector selects, a plain map (Services); {} selects nothing
  label_selector,  // the same for a LabelSelector; {} selects everything
};

/// Returns the prefix of a kind's keys. `resource.group` is the group in which the kind is stored.
std::string key_prefix(const kube::Resource& resource);

std::string_view namespace_of(const store::Object& object);
std::string_view name_of(const store::Object& object);
/// Returns the JSON text of the member at that path without parsing the rest; "" when there is none.
std::string_view raw_of(const store::Object& object, std::initializer_list<std::string_view> path);
bool has_finalizer(const store::Object& object, std::string_view finalizer);
/// Returns true when the object has a deletionTimestamp.
bool is_ending(const store::Object& object);
/// Parses the whole object, at every call.
schema::Document document_of(const store::Object& object);

}  // namespace sublet::controllers
