// Lister: what a controller reads: the store's own objects of one kind, by name, by namespace and by index.
//
// There is no second copy: an answer is a handle to the stored version, and every call looks at the store's latest
// durable state, so that a controller sees its own writes as soon as they are answered. Indexes hold handles too, fed
// by the one watch of their kind; what they find is looked up in that latest state, so it is never stale, but an object
// made a moment ago may be missing. The runtime sees to it that nothing which a key's last reconcile wrote is missing
// when the key is reconciled again (what upstream calls expectations).
// Objects are as they are stored: of the storage version, without apiVersion and kind.
// Threads: any. Values; live as long as the Controllers that gave them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/kube/client.h"
#include "sublet/kube/selectors.h"
#include "sublet/schema/document.h"
#include "sublet/store/store.h"

namespace sublet::controllers {

class Feed;

/// Ways to find the objects of a kind other than by name.
enum class By {
  uid,
  owner,           // the uid of an owner
  orphan,          // their namespace, when no owner controls them
  node,            // spec.nodeName
  label,           // any pair of their labels, within a namespace
  map_selector,    // labels that their spec.selector selects, when it is a plain map (Services); {} selects nothing
  label_selector,  // the same of a LabelSelector; {} selects everything
};

class Lister {
 public:
  Lister(const store::Store& store, std::string prefix, const Feed* feed)
      : store_(&store), prefix_(std::move(prefix)), feed_(feed) {}

  /// Null when there is none. Namespace "": of cluster scope.
  store::ObjectPtr get(std::string_view namespace_name, std::string_view name) const;
  /// In the order of their names; namespace "": all.
  std::vector<store::ObjectPtr> list(std::string_view namespace_name = {}) const;
  std::size_t count(std::string_view namespace_name = {}) const;

  // Each needs the index of its name, declared with the lister (Context::lister).
  store::ObjectPtr by_uid(std::string_view uid) const;
  std::vector<store::ObjectPtr> owned_by(std::string_view owner_uid) const;
  std::vector<store::ObjectPtr> orphans(std::string_view namespace_name) const;
  std::vector<store::ObjectPtr> on_node(std::string_view node) const;
  /// Objects of the namespace whose selector selects these labels.
  std::vector<store::ObjectPtr> selecting(std::string_view namespace_name, const store::Index& labelled) const;
  /// Objects of the namespace with labels that the selector selects. Without By::label it looks at all of them.
  std::vector<store::ObjectPtr> selected(std::string_view namespace_name, const kube::LabelSelector& selector) const;

 private:
  std::vector<store::ObjectPtr> found(By by, std::string_view key) const;

  const store::Store* store_;
  std::string prefix_;  // of the kind's keys: "pods/", "deployments.apps/"
  const Feed* feed_;    // null: nothing is watched for this lister
};

/// The prefix of a kind's keys. `resource.group` is the group in which the kind is stored.
std::string key_prefix(const kube::Resource& resource);

std::string_view namespace_of(const store::Object& object);
std::string_view name_of(const store::Object& object);
/// JSON text of the member at that path, found without parsing the rest; "" when there is none.
std::string_view raw_of(const store::Object& object, std::initializer_list<std::string_view> path);
bool has_finalizer(const store::Object& object, std::string_view finalizer);
/// It has a deletionTimestamp.
bool is_ending(const store::Object& object);
/// The whole object, parsed anew at each call.
schema::Document document_of(const store::Object& object);

}  // namespace sublet::controllers
