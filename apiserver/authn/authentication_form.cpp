#include "apiserver/authn/authentication_form.h"

#include <cstdint>
#include <vector>

#include "sublet/base/go_quoted.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kGroup = "apiserver.config.k8s.io/";

enum class Form : std::uint8_t { text, flag, texts, object, objects };
struct Member {
  std::string_view name;
  Form form = Form::text;
  const Member* members = nullptr;  // of an object or of objects; ends with an empty name
};

constexpr Member kIssuer[] = {{"url"},
                              {"discoveryURL"},
                              {"certificateAuthority"},
                              {"audiences", Form::texts},
                              {"audienceMatchPolicy"},
                              {"egressSelectorType"},
                              {}};
constexpr Member kClaimRule[] = {{"claim"}, {"requiredValue"}, {"expression"}, {"message"}, {}};
constexpr Member kUserRule[] = {{"expression"}, {"message"}, {}};
constexpr Member kPrefixed[] = {{"claim"}, {"prefix"}, {"expression"}, {}};
constexpr Member kPlain[] = {{"claim"}, {"expression"}, {}};
constexpr Member kExtra[] = {{"key"}, {"valueExpression"}, {}};
constexpr Member kMappings[] = {{"username", Form::object, kPrefixed},
                                {"groups", Form::object, kPrefixed},
                                {"uid", Form::object, kPlain},
                                {"extra", Form::objects, kExtra},
                                {}};
constexpr Member kJwt[] = {{"issuer", Form::object, kIssuer},
                           {"claimValidationRules", Form::objects, kClaimRule},
                           {"claimMappings", Form::object, kMappings},
                           {"userValidationRules", Form::objects, kUserRule},
                           {}};
constexpr Member kCondition[] = {{"path"}, {}};
constexpr Member kAnonymous[] = {{"enabled", Form::flag}, {"conditions", Form::objects, kCondition}, {}};
constexpr Member kRoot[] = {
    {"apiVersion"}, {"kind"}, {"jwt", Form::objects, kJwt}, {"anonymous", Form::object, kAnonymous}, {}};

struct FormErrors {
  std::vector<std::string> unknown, wrong;
};

void check_object(const Value& object, const Member* members, const std::string& path, FormErrors& errors);

void check_member(const Value& value, const Member& member, const std::string& path, FormErrors& errors) {
  if (value.is_null()) return;
  const auto wrong = [&](std::string_view what) { errors.wrong.push_back(path + " must be " + std::string(what)); };
  switch (member.form) {
    case Form::text:
      if (!value.is_string()) wrong("a string");
      return;
    case Form::flag:
      if (!value.is_boolean()) wrong("true or false");
      return;
    case Form::object:
      return value.is_object() ? check_object(value, member.members, path, errors) : wrong("an object");
    case Form::texts:
    case Form::objects:
      break;
  }
  if (!value.is_array()) return wrong("a list");
  std::size_t index = 0;
  for (const Value item : value) {
    const auto here = field_path(path, index++);
    if (member.form == Form::texts && !item.is_string()) errors.wrong.push_back(here + " must be a string");
    if (member.form != Form::objects) continue;
    if (item.is_object())
      check_object(item, member.members, here, errors);
    else
      errors.wrong.push_back(here + " must be an object");
  }
}

void check_object(const Value& object, const Member* members, const std::string& path, FormErrors& errors) {
  for (const Value value : object) {
    const Member* member = members;
    while (!member->name.empty() && member->name != value.key()) ++member;
    if (member->name.empty())
      errors.unknown.push_back("unknown field " + go_quoted(field_path(path, value.key())));
    else
      check_member(value, *member, field_path(path, value.key()), errors);
  }
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const auto& part : parts) all += (all.empty() ? "" : ", ") + part;
  return all;
}

}  // namespace

std::string field_path(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}
std::string field_path(const std::string& path, std::size_t index) { return path + "[" + std::to_string(index) + "]"; }

Outcome check_authentication_form(const Value& root, const schema::ParseNotes& notes) {
  const auto version = root["apiVersion"].text(), kind = root["kind"].text();
  if (!root.is_object() || kind.empty()) return bad_request("Object 'Kind' is missing");
  if (version.empty()) return bad_request("Object 'apiVersion' is missing");
  const bool known = version.starts_with(kGroup) &&
                     (version.ends_with("/v1") || version.ends_with("/v1beta1") || version.ends_with("/v1alpha1"));
  if (!known || kind != "AuthenticationConfiguration")
    return bad_request("no kind " + go_quoted(kind) + " is registered for version " + go_quoted(version) +
                       ": it must be AuthenticationConfiguration of " + std::string(kGroup) + "v1");
  FormErrors errors;
  check_object(root, kRoot, "", errors);
  if (!errors.wrong.empty()) return bad_request(joined(errors.wrong));
  for (const auto& twice : notes.duplicate_fields) errors.unknown.push_back("duplicate field " + go_quoted(twice));
  if (!errors.unknown.empty()) return bad_request("strict decoding error: " + joined(errors.unknown));
  return {};
}

}  // namespace sublet::apiserver
