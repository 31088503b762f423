// Objects as the store has them: one stored version of an object, the transactions that write them, and the events
// that writes leave behind.
//
// Values without threads or I/O. An Object and an Event never change once they are shared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sublet/store/sparse.h"
#include "sublet/store/uid.h"

namespace sublet::store {

/// The store's one counter. The first write of a new store gets kFirstRevision.
using Revision = std::int64_t;
inline constexpr Revision kFirstRevision = 2;  // an empty store is at revision 1, so that "0" never names a state

/// Immutable, shared bytes.
using Bytes = std::shared_ptr<const std::string>;

/// What the index keeps beside an object's bytes, so that selectors need no parsing. The writer fills it.
/// It is small because the store holds one in memory for every object.
struct Index {
  Uid uid;
  Sparse<std::pair<std::string, std::string>> labels;  // sorted by key
  Sparse<std::pair<std::string, std::string>> fields;  // selectable fields beyond name and namespace, by path
  Sparse<std::string> owner_uids;
};

/// One stored version of one object. Immutable; shared by snapshots, watchers and answers.
/// `key` is "<resource>.<group>/<namespace>/<name>" or "<resource>.<group>/<name>"; the core group gives "pods/...".
/// `bytes` is the JSON of the stored version without apiVersion and kind, with a hole of zero bytes for the value of
/// metadata.resourceVersion at `hole`: the text is bytes[0,hole) + decimal(revision) + bytes[hole,end).
struct Object {
  std::string key;
  std::string bytes;
  std::uint32_t hole = 0;        // offset in `bytes`; kNoHole when the object carries no resourceVersion
  Revision revision = 0;         // of this version
  Revision create_revision = 0;  // of the first version under this key
  Index index;
  static constexpr std::uint32_t kNoHole = 0xffffffff;
  /// Returns the JSON text with the revision filled in.
  std::string json() const;
  void append_json(std::string& out) const;
};
using ObjectPtr = std::shared_ptr<const Object>;

/// The new version of an object, as its writer gives it to the store.
struct Put {
  std::string bytes;
  std::uint32_t hole = Object::kNoHole;
  Index index = {};
};

/// One operation of a transaction: a put, or a delete when `put` is empty. Each operation gets its own revision.
struct Op {
  std::string key;
  std::optional<Put> put = {};
  /// For a delete: the final state that watchers see (finalizers emptied etc.); empty: the stored version.
  std::optional<Put> last_state = {};
  /// The put belongs to a deletion (deletionTimestamp, the status of an object that ends). It is accepted where deletes
  /// are: on a full disk and beyond the quota.
  bool of_deletion = false;
};

/// `revision` 0: the key must not exist. Otherwise the key's latest pending version must have this revision.
struct Guard {
  std::string key;
  Revision revision = 0;
};

struct Txn {
  std::vector<Guard> guards = {};
  std::vector<Op> ops = {};
};

/// A committed change. `object` is the new version, or for a delete the last state stamped with the delete's revision.
struct Event {
  enum class Type : std::uint8_t { created, updated, deleted } type;
  ObjectPtr object;
  ObjectPtr previous;  // version before; null for created
  Revision revision = 0;
};
using EventPtr = std::shared_ptr<const Event>;

}  // namespace sublet::store
