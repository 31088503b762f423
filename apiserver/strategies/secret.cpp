#include <string_view>
#include <unordered_map>

#include "apiserver/strategies/rows.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/payload.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

/// Keys that a type of Secret must have.
struct TypeFacts {
  std::string_view type, key;
  bool is_json = false;
  bool may_be_empty = true;
};
constexpr TypeFacts kSecretTypes[] = {
    {.type = "kubernetes.io/dockercfg", .key = ".dockercfg", .is_json = true},
    {.type = "kubernetes.io/dockerconfigjson", .key = ".dockerconfigjson", .is_json = true},
    {.type = "kubernetes.io/ssh-auth", .key = "ssh-privatekey", .may_be_empty = false},
    {.type = "kubernetes.io/tls", .key = "tls.crt"},
    {.type = "kubernetes.io/tls", .key = "tls.key"},
};

// By an index: a tenant may send a hundred thousand of them.
void put_texts(Value data, const Value& texts) {
  std::unordered_map<std::string_view, Value> known;
  for (Value entry : data) known.emplace(entry.key(), entry);
  for (Value entry : texts) {
    const auto [found, is_new] = known.try_emplace(entry.key());
    if (is_new) found->second = data.add_member(entry.key());
    found->second.set(schema::base64_encode(entry.text()));
  }
}

void fold_string_data(Value object) {
  auto texts = object["stringData"];
  if (!texts) return;
  if (!texts.empty()) put_texts(object.object("data"), texts);
  object.erase("stringData");
  if (object.has("data")) object["data"].sort_keys();
}

void default_secret(Value object) {
  fold_string_data(object);
  default_text(object, "type", "Opaque");
}

bool is_json_object(std::string_view base64) {
  auto bytes = schema::base64_decode(base64);
  if (!bytes) return false;
  auto document = schema::Document::parse_json(*bytes);
  return document && document->root().is_object();
}

void validate_secret_type(const Value& object, Causes& causes) {
  auto type = object["type"].text();
  auto data = object["data"];
  for (const auto& facts : kSecretTypes) {
    if (facts.type != type) continue;
    std::string at = keyed("data", facts.key);
    auto value = data[facts.key];
    if (value.missing() || (!facts.may_be_empty && value.text().empty()))
      required(causes, at);
    else if (facts.is_json && !is_json_object(value.text()))
      invalid(causes, at, "<secret contents redacted>", "must be a JSON object");
  }
  if (type == "kubernetes.io/basic-auth" && !data.has("username") && !data.has("password")) {
    required(causes, "data[username]");
    required(causes, "data[password]");
  }
  constexpr std::string_view kAccount = "kubernetes.io/service-account.name";
  if (type == "kubernetes.io/service-account-token" && object["metadata"]["annotations"][kAccount].text().empty())
    required(causes, keyed("metadata.annotations", kAccount));
}

void validate_secret(const Value& object, Causes& causes) {
  std::size_t total = 0;
  for (auto entry : object["data"]) {
    invalid_each(causes, keyed("data", entry.key()), entry.key(), config_map_key(entry.key()));
    total += decoded_size(entry.text());
  }
  if (total > kPayloadMax) too_long(causes, "data", kPayloadMax);
  validate_secret_type(object, causes);
}

void validate_secret_update(const Value& object, const Value& old, Causes& causes) {
  immutable(causes, "type", object["type"], old["type"]);
  validate_immutable_payload(causes, object, old, {"data"});
}

/// A writer who leaves the type out means to keep it.
Outcome prepare_secret_update(WriteContext&, Value object, const Value& old) {
  if (object["type"].text().empty()) copy_field(object, old, "type");
  return {};
}

}  // namespace

Strategy secret_strategy() {
  Strategy row;
  row.resource = "secrets";
  row.defaults = default_secret;
  row.prepare_update = prepare_secret_update;
  row.validate = validate_secret;
  row.validate_update = validate_secret_update;
  row.selectable_fields = {{"type", "type"}};
  return row;
}

}  // namespace sublet::apiserver
