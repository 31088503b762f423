#include "apiserver/stored_release.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/codec/object_bytes.h"
#include "apiserver/conversion/conversion.h"
#include "apiserver/request/object_key.h"
#include "sublet/base/log.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::size_t kOpsPerTxn = 256;

/// What a server of these kinds writes.
Document record_of(const schema::Registry& kinds) {
  Document record = Document::object();
  record.root().put("release", kinds.release());
  Value resources = record.root().object("resources");
  for (const auto& facts : kinds.resources())
    if (!facts.custom && &kinds.storage_of(facts) == &facts && facts.verbs.contains("get"))
      resources.put(group_resource(facts.group, facts.resource), facts.version);
  return record;
}

/// "v1.36.3" as 1036.
long release_number(std::string_view release) {
  const std::string text(release.substr(std::min<std::size_t>(1, release.size())));
  char* rest = nullptr;
  const long major = std::strtol(text.c_str(), &rest, 10);
  return major * 1000 + (*rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0);
}

class Acceptance {
 public:
  Acceptance(store::Store& store, const schema::Registry& kinds, const Value& before)
      : store_(store), kinds_(kinds), before_(before), snapshot_(store.snapshot()) {}

  Outcome run() {
    for (const Value resource : before_["resources"])
      if (snapshot_.count(std::string(resource.key()) + "/") > 0)
        if (auto accepted = accept(std::string(resource.key()), resource.text()); !accepted) return accepted;
    return {};
  }

 private:
  Outcome refuse(const std::string& what) const {
    return bad_request("the store was written by Kubernetes " + before_["release"].string() + ", and " + what +
                       ", which " + std::string(kinds_.release()) +
                       " does not know and would lose; start it again with the release that wrote it, or delete that "
                       "there first");
  }

  Outcome accept(const std::string& name, std::string_view version) {
    const auto dot = name.find('.');
    const std::string resource = name.substr(0, dot), group = dot == std::string::npos ? "" : name.substr(dot + 1);
    const schema::ResourceFacts* was = kinds_.find_resource(group, version, resource);
    if (!was)
      return refuse("holds " + std::to_string(snapshot_.count(name + "/")) + " objects of " + name + " as " +
                    api_version(group, version));
    const bool converts = &kinds_.storage_of(*was) != was;
    const bool looks = release_number(before_["release"].text()) > release_number(kinds_.release());
    if (!converts && !looks) return {};
    Outcome outcome;
    snapshot_.scan(name + "/", "", [&](const store::ObjectPtr& object) {
      if (looks) outcome = look(*object, *was);
      if (outcome && converts) outcome = convert(object, *was);
      return outcome.has_value();
    });
    if (!outcome) return outcome;
    return flush();
  }

  /// Whether all fields of an object are known.
  Outcome look(const store::Object& object, const schema::ResourceFacts& facts) const {
    auto document = stored_document(object);
    if (!document) return fail(document.error());
    schema::DecodeNotes notes;
    if (auto fits = schema::conform(document->root(), facts.type, &notes); !fits)
      return refuse("of " + object.key + " it is said: " + fits.error().message);
    if (notes.unknown_fields.empty()) return {};
    const std::size_t more = notes.unknown_fields.size() - 1;
    return refuse(object.key + " has " + notes.unknown_fields.front() +
                  (more == 0 ? "" : " and " + std::to_string(more) + " more fields"));
  }

  Outcome convert(const store::ObjectPtr& object, const schema::ResourceFacts& was) {
    auto document = stored_document(*object);
    if (!document) return fail(document.error());
    if (const auto* conversion = kinds_.entry<Conversion>(was)) conversion->to_storage(document->root());
    const schema::ResourceFacts& storage = kinds_.storage_of(was);
    auto put = make_put(document->root(), storage, *kinds_.entry<Strategy>(storage));
    if (!put) return fail(put.error());
    txn_.guards.push_back({object->key, object->revision});
    txn_.ops.push_back({object->key, std::move(*put)});
    return txn_.ops.size() < kOpsPerTxn ? Outcome() : flush();
  }

  Outcome flush() {
    if (txn_.ops.empty()) return {};
    auto committed = store_.commit(std::exchange(txn_, {}));
    return committed ? Outcome() : fail(committed.error());
  }

  store::Store& store_;
  const schema::Registry& kinds_;
  const Value before_;
  const store::Snapshot snapshot_;
  store::Txn txn_;
};

}  // namespace

Outcome accept_stored_release(store::Store& store, const schema::Registry& kinds) {
  const Document wanted = record_of(kinds);
  store::Put put;
  put.bytes = wanted.root().to_json();
  const std::string key(kStoredReleaseKey);
  const auto known = store.snapshot().get(key);
  if (known && known->bytes == put.bytes) return {};
  if (known) {
    auto before = Document::parse_json(known->json());
    if (!before) return fail(before.error());
    if (auto accepted = Acceptance(store, kinds, before->root()).run(); !accepted) return accepted;
    log::info("store.release", {{"written_by", (*before)["release"].string()}, {"now", kinds.release()}});
  }
  store::Txn txn;
  txn.guards.push_back({key, known ? known->revision : 0});
  txn.ops.push_back({key, std::move(put)});
  auto committed = store.commit(std::move(txn));
  return committed ? Outcome() : fail(committed.error());
}

}  // namespace sublet::apiserver
