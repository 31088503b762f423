#include <gtest/gtest.h>

#include "apiserver/kind_testing.h"
#include "apiserver/validation/warnings.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {

using schema::Document;
using schema::Value;

Document parse(std::string_view json) {
  auto document = Document::parse_json(json);
  EXPECT_TRUE(document.has_value()) << json;
  return document ? std::move(*document) : Document::object();
}

const schema::ResourceFacts& facts_of(std::string_view resource) {
  for (const auto& facts : schema::Registry::builtin()->resources())
    if (facts.resource == resource) return facts;
  ADD_FAILURE() << "no resource " << resource;
  return schema::Registry::builtin()->resources().front();
}

std::string causes_text(const Prepared& prepared) {
  std::string text;
  if (prepared) return text;
  for (const auto& cause : prepared.object.error().causes) {
    if (!text.empty()) text += "\n";
    text += cause.field + ": " + cause.message;
  }
  return text.empty() ? prepared.error() : text;
}

KindBench::KindBench() {
  store_ = std::move(*store::Store::open(store::make_memory_log()));
  store("namespaces/default", R"({"metadata":{"name":"default","uid":"ns-uid"},"status":{"phase":"Active"}})");
  user.name = "jane";
  user.groups = {"system:authenticated"};
}

void KindBench::store(const std::string& key, std::string_view json) {
  auto document = parse(json);
  store::Op op;
  op.key = key;
  op.put.emplace();
  op.put->bytes = std::string(json);
  op.put->index.uid = document["metadata"]["uid"].string();
  for (const Value label : document["metadata"]["labels"])
    op.put->index.labels.emplace_back(std::string(label.key()), label.string());
  if (const Value node = document["spec"]["nodeName"]; !node.text().empty())
    op.put->index.fields.emplace_back("spec.nodeName", node.string());
  store::Txn put;
  put.ops.push_back(std::move(op));
  ASSERT_TRUE(store_->commit(std::move(put)).has_value());
}

bool KindBench::commit(const std::string& key, Prepared& prepared) {
  store::Op op;
  op.key = key;
  op.put.emplace();
  op.put->bytes = prepared.object->to_json();
  prepared.txn.guards.push_back({key, 0});
  prepared.txn.ops.push_back(std::move(op));
  return store_->commit(std::move(prepared.txn)).has_value();
}

store::Snapshot& KindBench::pending() {
  pending_ = store_->pending();
  return pending_;
}

WriteContext KindBench::context(std::string_view resource, std::string_view namespace_name,
                                std::string_view subresource) {
  txn = {};
  warnings.clear();
  const auto& facts = facts_of(resource);
  return {.kinds = *schema::Registry::builtin(),
          .resource = facts,
          .namespace_name = facts.namespaced ? namespace_name : std::string_view(),
          .subresource = subresource,
          .user = user,
          .pending = pending(),
          .options = options,
          .clock = clock,
          .random = random,
          .dry_run = dry_run,
          .txn = txn,
          .warnings = warnings};
}

namespace {

/// The kind's own rules first; the schema adds what they left unsaid.
void validate_as_verbs_do(const Value& object, schema::Type type, const Strategy& strategy,
                          std::vector<Cause>& causes) {
  if (strategy.validate) strategy.validate(object, causes);
  add_structural_causes(strategy, object, type, causes);
}

}  // namespace

Outcome KindBench::run_create(WriteContext& context, Value object, const schema::ResourceFacts& facts) {
  schema::Type type = facts.type;
  const auto& strategy = strategy_for(facts.group, facts.resource);
  if (auto outcome = schema::conform(object, type); !outcome) return outcome;
  auto metadata = object.object("metadata");
  metadata.put("uid", "created-uid");
  if (facts.namespaced) metadata.put("namespace", context.namespace_name);
  schema::apply_table_defaults(object, type);
  if (strategy.defaults) strategy.defaults(object);
  if (auto outcome = admit_mutating(context, WriteVerb::create, object, {}); !outcome) return outcome;
  if (strategy.prepare_create)
    if (auto outcome = strategy.prepare_create(context, object); !outcome) return outcome;
  std::vector<Cause> causes;
  validate_object_meta(object["metadata"], facts.namespaced, strategy.name_rule, causes);
  validate_as_verbs_do(object, type, strategy, causes);
  if (strategy.validate_create) strategy.validate_create(object, causes);
  if (strategy.judge_create) strategy.judge_create(context, object, causes);
  if (!causes.empty()) return fail(invalid_status(facts.group, facts.kind, metadata["name"].text(), causes));
  for (auto& warning : warnings_of(facts.group, facts.resource, {}, object, {})) warnings.push_back(std::move(warning));
  if (auto outcome = admit_validating(context, WriteVerb::create, object, {}); !outcome) return outcome;
  if (auto outcome = charge_quota(context, WriteVerb::create, object, {}); !outcome) return outcome;
  guard_namespace(context);
  if (strategy.claim_create)
    if (auto outcome = strategy.claim_create(context, object); !outcome) return outcome;
  return schema::conform(object, type);
}

Prepared KindBench::create(std::string_view resource, std::string_view json, std::string_view namespace_name) {
  auto write = context(resource, namespace_name);
  auto document = parse(json);
  auto outcome = run_create(write, document.root(), facts_of(resource));
  Prepared prepared{std::move(document), std::move(txn), std::move(warnings)};
  if (!outcome) prepared.object = fail(outcome.error());
  return prepared;
}

Outcome KindBench::run_update(WriteContext& context, Value object, const Value& old,
                              const schema::ResourceFacts& facts) {
  schema::Type type = facts.type;
  const auto& strategy = strategy_for(facts.group, facts.resource);
  if (auto outcome = schema::conform(object, type); !outcome) return outcome;
  for (auto field : {"namespace", "uid", "generation"})
    if (!object["metadata"].has(field) && old["metadata"].has(field))
      object["metadata"].put(field, old["metadata"][field]);
  schema::apply_table_defaults(object, type);
  if (strategy.defaults) strategy.defaults(object);
  if (auto outcome = admit_mutating(context, WriteVerb::update, object, old); !outcome) return outcome;
  const auto steps = update_steps(strategy, context.subresource);
  if (steps.prepare)
    if (auto outcome = steps.prepare(context, object, old); !outcome) return outcome;
  std::vector<Cause> causes;
  validate_object_meta_update(object["metadata"], old["metadata"], causes);
  validate_as_verbs_do(object, type, strategy, causes);
  if (steps.validate) steps.validate(object, old, causes);
  if (!causes.empty()) return fail(invalid_status(facts.group, facts.kind, old["metadata"]["name"].text(), causes));
  if (auto outcome = admit_validating(context, WriteVerb::update, object, old); !outcome) return outcome;
  if (auto outcome = charge_quota(context, WriteVerb::update, object, old); !outcome) return outcome;
  if (steps.claim)
    if (auto outcome = steps.claim(context, object, old); !outcome) return outcome;
  return schema::conform(object, type);
}

Prepared KindBench::update(std::string_view resource, std::string_view json, std::string_view old_json,
                           std::string_view subresource, std::string_view namespace_name) {
  auto write = context(resource, namespace_name, subresource);
  auto document = parse(json), old = parse(old_json);
  auto outcome = run_update(write, document.root(), old.root(), facts_of(resource));
  Prepared prepared{std::move(document), std::move(txn), std::move(warnings)};
  if (!outcome) prepared.object = fail(outcome.error());
  return prepared;
}

Outcome KindBench::remove(std::string_view resource, std::string_view json, std::string_view namespace_name) {
  auto write = context(resource, namespace_name);
  auto old = parse(json);
  return admit_validating(write, WriteVerb::remove, {}, old.root());
}

}  // namespace sublet::apiserver
