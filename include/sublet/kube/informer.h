// Informer: a local, always-resuming copy of one resource.
//
// start() lists (pages of 500) and watches; a lost stream is resumed at the last seen revision (bookmarks included), an
// expired one, or one that the server ends or refuses at once time and again, relists and reports the difference as
// events. Errors back off (full jitter, 100 ms .. 10 s, Retry-After honoured) and never lose the copy. Cached objects
// are JSON text, not trees: parse what you need.
// All decisions are taken on the strand (a net::Loop, or one that a test steps), and handlers run there, in order; they
// must not block: put keys on a WorkQueue. get()/list() are thread-safe.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/random.h"
#include "sublet/base/strand.h"
#include "sublet/kube/client.h"

namespace sublet::kube {

struct CachedObject {
  std::string namespace_name, name, uid, resource_version;
  std::string_view json;  // whole but for managedFields; list items carry no apiVersion/kind, as the API sends them
  std::shared_ptr<const void> keeper;  // of its bytes
  schema::Document document() const;   // parsed anew at each call
  /// JSON text of the member at that path, found without parsing the rest; "" when there is none.
  std::string_view raw(std::initializer_list<std::string_view> path) const;
  /// The same member when it is a string, without its quotes; else "".
  std::string text(std::initializer_list<std::string_view> path) const;
};
using CachedPtr = std::shared_ptr<const CachedObject>;

struct InformerOptions {
  Resource resource;
  std::string namespace_name{};  // "": all
  std::string label_selector{}, field_selector{};
  std::function<void(std::string& json)> trim{};  // takes out of an object's JSON what nobody asks the copy for
  bool passing = false;             // nearly all objects are soon let go: their memory is taken and given back by many
  Clock* clock = &Clock::system();  // how long a watch has lived; delays are the strand's
  Random* random = &Random::system();  // of delays, and of how long a watch may live
};

/// `before` is null for an addition, `after` for a deletion, whose `before` is the last state that the server told.
/// An object that was deleted and made again between two lists gives a deletion and an addition.
using InformerHandler = std::function<void(const CachedPtr& before, const CachedPtr& after)>;

/// What an informer's server has answered lately, for health records.
struct InformerActivity {
  WallTime listed{}, watched{};  // last complete list, last event or bookmark; epoch: none yet
  std::string failure;           // of the last list or watch; empty after a success
};

class Informer {
 public:
  Informer(Strand& strand, const Client& client, InformerOptions options);
  ~Informer();  // stops
  /// No handler runs afterwards; the copy stays as it is. Not from a handler.
  void stop();

  /// Before start().
  void add_handler(InformerHandler handler);
  /// After each list but the first, its differences told: of what came and went while no watch lived nothing tells. A
  /// handler like the others. Before start().
  void on_relist(std::function<void()> relisted);
  /// Before the handlers hear of a deletion that the server itself told (DELETED, also of what no selector holds any
  /// more): that uid never comes back. What a list lacks may be an older list's word, and is not told here. Before
  /// start().
  void on_deleted(std::function<void(const CachedObject& last_state)> deleted);
  /// Extra index: `keys_of` gives the index keys of an object. Before start().
  void add_index(std::string name, std::function<std::vector<std::string>(const CachedObject&)> keys_of);
  void start();

  bool synced() const;
  /// Blocks until the first list is in; false on timeout.
  bool wait_synced(std::chrono::milliseconds timeout) const;
  CachedPtr get(std::string_view namespace_name, std::string_view name) const;
  std::vector<CachedPtr> list() const;
  std::vector<CachedPtr> by_index(std::string_view index, std::string_view key) const;
  /// This state of an object is of no more use: if it is still the present one, the copy forgets it, and notes only
  /// that it was told. A change of it comes as an addition, its end is not told.
  void let_go(const CachedPtr& object);
  /// This one of those that are passing stays for now, and does not hold the memory of others.
  void keep(const CachedPtr& object);
  const InformerOptions& options() const;
  /// Whether the copy is what the server lists now, every handler told. Asks it, and blocks: not from a handler.
  Result<bool> up_to_date() const;
  InformerActivity activity() const;
  /// Statistics: lists done (1 after a clean start) and events seen.
  std::size_t lists() const;
  std::size_t events() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::kube
