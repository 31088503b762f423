// KindBench: one write on its way through defaults, admission, strategy and validation over a real store, as the verbs
// do it, for the tests of strategies, admission, authentication and subresources. Test code only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission/admission.h"
#include "apiserver/strategies/strategy.h"
#include "sublet/schema/engine.h"
#include "sublet/store/memory_log.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

/// A prepared write: the object as it would be stored, the Txn and the warnings, or the refusal.
struct Prepared {
  Result<schema::Document> object;
  store::Txn txn;
  std::vector<std::string> warnings;
  explicit operator bool() const { return bool(object); }
  schema::Value root() const { return object->root(); }
  std::string error() const { return object ? "" : object.error().message; }
};

class KindBench {
 public:
  KindBench();

  /// Stores the JSON unchanged under the key ("pods/default/x").
  void store(const std::string& key, std::string_view json);
  /// Commits the Txn of a prepared write and stores its object.
  bool commit(const std::string& key, Prepared& prepared);

  Prepared create(std::string_view resource, std::string_view json, std::string_view namespace_name = "default");
  Prepared update(std::string_view resource, std::string_view json, std::string_view old_json,
                  std::string_view subresource = {}, std::string_view namespace_name = "default");
  /// What admission says of a removal.
  Outcome remove(std::string_view resource, std::string_view json, std::string_view namespace_name = "default");

  WriteContext context(std::string_view resource, std::string_view namespace_name = "default",
                       std::string_view subresource = {});
  store::Snapshot& pending();

  ServerOptions options;
  ManualClock clock;
  SeededRandom random{7};
  User user;
  bool dry_run = false;
  store::Txn txn;
  std::vector<std::string> warnings;

 private:
  Outcome run_create(WriteContext& context, schema::Value object, const schema::ResourceFacts& facts);
  Outcome run_update(WriteContext& context, schema::Value object, const schema::Value& old,
                     const schema::ResourceFacts& facts);

  std::unique_ptr<store::Store> store_;
  store::Snapshot pending_;
};

schema::Document parse(std::string_view json);
/// The first resource of that plural name in the table.
const schema::ResourceFacts& facts_of(std::string_view resource);
/// "field: message" of every cause, joined by newlines.
std::string causes_text(const Prepared& prepared);

}  // namespace sublet::apiserver
