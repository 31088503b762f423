// NodeNames: what a tenant calls the host's nodes: as the host does, or by pseudo names
// (sync.fromHost.nodes.pseudoNames).
//
// A pseudo name is `node-` and 130 bits of HMAC-SHA256 over the host's name, in 26 characters: the same for the same
// node wherever the same key is, a DNS label however long the host's name is, two nodes never share one, and without
// the key nobody can compute or confirm one. The key is the syncer's alone (cluster::node_names_key()): the tenant's
// API server and whoever only judges what tenants write have none, and need none. From the host to the tenant it is a
// function; back it is looked up among the nodes that are known (know(), meet()). Without a key both ways are the
// identity, and texts stay as they are: nobody asks which of the two it is. Threads: any; what is known grows while
// others look.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/mutex.h"
#include "sublet/base/random.h"

namespace sublet::syncer {

inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";

struct HostNode {
  std::string name;
  std::string hostname_label{};          // kubernetes.io/hostname; "": as its name
  std::vector<std::string> addresses{};  // names and numbers by which it can be reached
};

class NodeNames {
 public:
  /// The host's own names.
  NodeNames() = default;
  /// Pseudo names. The key is not to be empty.
  explicit NodeNames(std::string key) : key_(std::move(key)) {}
  static std::string new_key(Random& random);

  bool are_pseudo() const { return !key_.empty(); }

  // --- to the tenant ---
  std::string to_tenant(std::string_view host_node) const;
  /// Of an object that bears its node's name within its own (a ResourceSlice).
  std::string object_to_tenant(std::string_view host_name) const;
  /// Of a value that may name a node, as a label's or an attribute's: its pseudo name, and of one that holds a name
  /// within it a stand-in that means nothing; 63 characters at most.
  std::string value_to_tenant(std::string_view value) const;
  /// Of a sentence: nodes' names and addresses in it become their pseudo names. What stands behind "image",
  /// "container", "pod", "exec" or "stat", and `own` ("namespace/name" of what the sentence is about), is the tenant's
  /// own word: it stays, or a tenant could ask by it whether a node has that name.
  std::string in_text(std::string_view text, std::string_view own = {}) const;

  /// Of any text in a kind that nobody here knows: as in_text(); an address alone stays one, but nobody's, for whoever
  /// checks its form.
  std::string member_to_tenant(std::string_view text) const;

  // --- to the host ---
  /// A name that none of the known nodes has becomes one that no node of the host has.
  std::string to_host(std::string_view tenant_node) const;
  /// Of a node's label, or of the field metadata.name, that a tenant chooses by. Of labels that are not a node's name:
  /// a host's name in them is not for the tenant to say.
  std::string value_to_host(std::string_view key, std::string_view value) const;
  /// Whether a node can be meant by that name of the tenant's.
  bool is_known(std::string_view tenant_node) const;
  /// Whether values of that key are names of nodes.
  static bool names_nodes(std::string_view key);

  // --- what is known ---
  void know(const HostNode& node);
  /// A node that something on the host names: it may be told of before its Node is.
  void meet(std::string_view host_node);
  /// It is gone: texts still name it, and pods may wait for its return, so that it stays known for long.
  void note_gone(std::string_view host_node);

 private:
  std::string digest(std::string_view purpose, std::string_view text) const;
  std::string pseudo(std::string_view host_node) const { return "node-" + digest("node", host_node); }
  bool holds_name(std::string_view value) const;
  void forget_called(const HostNode& node) SUBLET_REQUIRES(mutex_);

  std::string key_;
  mutable Mutex mutex_;
  std::map<std::string, HostNode, std::less<>> nodes_ SUBLET_GUARDED_BY(mutex_);      // by their tenant's name
  std::map<std::string, std::string, std::less<>> called_ SUBLET_GUARDED_BY(mutex_);  // lower case, to that name
  std::deque<std::string> gone_ SUBLET_GUARDED_BY(mutex_);                            // the oldest first
};

}  // namespace sublet::syncer
