// Lister: reads the store's objects of one kind, by name, by namespace and by index.
//
// There is no second copy: an answer is a handle to the stored version, from the store's latest durable state. So a
// controller sees its own writes as soon as they are answered. Indexes hold handles too and follow the one watch of
// their kind. A lister looks up what an index found in the latest state: it is never stale, but an object created a
// moment ago may be missing. The runtime reconciles a key again only after the indexes have seen everything that the
// key's last reconcile wrote (upstream calls this expectations).
// Objects are in the storage version, without apiVersion and kind.
// Threads: any. Lifecycle: a value; valid as long as the Controllers that made it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/controllers/stored_object.h"
#include "sublet/kube/selectors.h"
#include "sublet/store/store.h"

namespace sublet::controllers {

class Feed;

class Lister {
 public:
  Lister(const store::Store& store, std::string prefix, const Feed* feed)
      : store_(&store), prefix_(std::move(prefix)), feed_(feed) {}

  /// Returns null when there is none. Namespace "": cluster scope.
  store::ObjectPtr get(std::string_view namespace_name, std::string_view name) const;
  /// Returns the objects sorted by name; namespace "": of all namespaces.
  std::vector<store::ObjectPtr> list(std::string_view namespace_name = {}) const;
  std::size_t count(std::string_view namespace_name = {}) const;

  // Each needs the index of its name, declared in Context::lister().
  store::ObjectPtr by_uid(std::string_view uid) const;
  std::vector<store::ObjectPtr> owned_by(std::string_view owner_uid) const;
  std::vector<store::ObjectPtr> orphans(std::string_view namespace_name) const;
  std::vector<store::ObjectPtr> on_node(std::string_view node) const;
  /// Returns the objects of the namespace whose selector selects these labels.
  std::vector<store::ObjectPtr> selecting(std::string_view namespace_name, const store::Index& labelled) const;
  /// Returns the objects of the namespace that the selector selects. Without By::label it tests all of them.
  std::vector<store::ObjectPtr> selected(std::string_view namespace_name, const kube::LabelSelector& selector) const;

 private:
  std::vector<store::ObjectPtr> found(By by, std::string_view key) const;

  const store::Store* store_;
  std::string prefix_;  // of the kind's keys: "pods/", "deployments.apps/"
  const Feed* feed_;    // null: nothing is watched for this lister
};

}  // namespace sublet::controllers
