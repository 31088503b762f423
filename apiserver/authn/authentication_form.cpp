#include "apiserver/authn/authentication_form.h"

#include <cstdint>
#include <vector>

#include "sublet/base/go_quoted.h"
#include "sublet/base/text.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kConfigGroupPrefix = "apiserver.config.k8s.io/";

enum class MemberForm : std::uint8_t { text, flag, texts, object, objects };
struct FormMember {
  std::string_view name;
  MemberForm form = MemberForm::text;
  const FormMember* members = nullptr;  // of an object or of objects; ends with an empty name
};

constexpr FormMember kIssuer[] = {{"url"},
                                  {"discoveryURL"},
                                  {"certificateAuthority"},
                                  {"audiences", MemberForm::texts},
                                  {"audienceMatchPolicy"},
                                  {"egressSelectorType"},
                                  {}};
constexpr FormMember kClaimRule[] = {{"claim"}, {"requiredValue"}, {"expression"}, {"message"}, {}};
constexpr FormMember kUserRule[] = {{"expression"}, {"message"}, {}};
constexpr FormMember kPrefixed[] = {{"claim"}, {"prefix"}, {"expression"}, {}};
constexpr FormMember kUidForm[] = {{"claim"}, {"expression"}, {}};
constexpr FormMember kExtra[] = {{"key"}, {"valueExpression"}, {}};
constexpr FormMember kMappings[] = {{"username", MemberForm::object, kPrefixed},
                                    {"groups", MemberForm::object, kPrefixed},
                                    {"uid", MemberForm::object, kUidForm},
                                    {"extra", MemberForm::objects, kExtra},
                                    {}};
constexpr FormMember kJwt[] = {{"issuer", MemberForm::object, kIssuer},
                               {"claimValidationRules", MemberForm::objects, kClaimRule},
                               {"claimMappings", MemberForm::object, kMappings},
                               {"userValidationRules", MemberForm::objects, kUserRule},
                               {}};
constexpr FormMember kCondition[] = {{"path"}, {}};
constexpr FormMember kAnonymousForm[] = {
    {"enabled", MemberForm::flag}, {"conditions", MemberForm::objects, kCondition}, {}};
constexpr FormMember kRoot[] = {{"apiVersion"},
                                {"kind"},
                                {"jwt", MemberForm::objects, kJwt},
                                {"anonymous", MemberForm::object, kAnonymousForm},
                                {}};

struct FormErrors {
  std::vector<std::string> unknown, wrong;
};

void check_object(const Value& object, const FormMember* members, const std::string& path, FormErrors& errors);

void check_member(const Value& value, const FormMember& member, const std::string& path, FormErrors& errors) {
  if (value.is_null()) return;
  const auto wrong = [&](std::string_view what) { errors.wrong.push_back(path + " must be " + std::string(what)); };
  switch (member.form) {
    case MemberForm::text:
      if (!value.is_string()) wrong("a string");
      return;
    case MemberForm::flag:
      if (!value.is_boolean()) wrong("true or false");
      return;
    case MemberForm::object:
      return value.is_object() ? check_object(value, member.members, path, errors) : wrong("an object");
    case MemberForm::texts:
    case MemberForm::objects:
      break;
  }
  if (!value.is_array()) return wrong("a list");
  std::size_t index = 0;
  for (const Value item : value) {
    const auto here = field_path(path, index++);
    if (member.form == MemberForm::texts && !item.is_string()) errors.wrong.push_back(here + " must be a string");
    if (member.form != MemberForm::objects) continue;
    if (item.is_object())
      check_object(item, member.members, here, errors);
    else
      errors.wrong.push_back(here + " must be an object");
  }
}

void check_object(const Value& object, const FormMember* members, const std::string& path, FormErrors& errors) {
  for (const Value value : object) {
    const FormMember* member = members;
    while (!member->name.empty() && member->name != value.key()) ++member;
    if (member->name.empty())
      errors.unknown.push_back("unknown field " + go_quoted(field_path(path, value.key())));
    else
      check_member(value, *member, field_path(path, value.key()), errors);
  }
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
  const bool known = version.starts_with(kConfigGroupPrefix) &&
                     (version.ends_with("/v1") || version.ends_with("/v1beta1") || version.ends_with("/v1alpha1"));
  if (!known || kind != "AuthenticationConfiguration")
    return bad_request("no kind " + go_quoted(kind) + " is registered for version " + go_quoted(version) +
                       ": it must be AuthenticationConfiguration of " + std::string(kConfigGroupPrefix) + "v1");
  FormErrors errors;
  check_object(root, kRoot, "", errors);
  if (!errors.wrong.empty()) return bad_request(join(errors.wrong, ", "));
  for (const auto& twice : notes.duplicate_fields) errors.unknown.push_back("duplicate field " + go_quoted(twice));
  if (!errors.unknown.empty()) return bad_request("strict decoding error: " + join(errors.unknown, ", "));
  return {};
}

}  // namespace sublet::apiserver
