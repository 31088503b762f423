#include "apiserver/authn/claim_mapping.h"

#include <optional>

#include "sublet/base/go_quoted.h"

namespace sublet::apiserver {
namespace {

namespace cel = patches::cel;
using schema::Value;

tl::unexpected<Status> refuse_claims(std::string why) { return fail(Reason::unauthorized, "oidc: " + std::move(why)); }

// Expressions
// -----------------------------------------------------------------------------

/// As Go's encoding/json reads into `any`: every number is a double. Texts stay the document's.
cel::Value as_cel(const Value& node) {
  if (node.is_number()) return cel::Value::floating(node.floating());
  if (node.is_array()) {
    cel::List items;
    for (const Value item : node) items.push_back(as_cel(item));
    return cel::Value::list(std::move(items));
  }
  if (!node.is_object()) return cel::Value::of(node);
  cel::Map members;
  for (const Value member : node) members.emplace_back(cel::Value::borrowed(member.key()), as_cel(member));
  return cel::Value::map(std::move(members));
}

cel::Value as_cel(const std::vector<std::string>& texts) {
  cel::List items;
  for (const auto& text : texts) items.push_back(cel::Value::borrowed(text));
  return cel::Value::list(std::move(items));
}

cel::Value as_cel(const User& user) {
  cel::Map extra;
  for (const auto& [key, values] : user.extra) extra.emplace_back(cel::Value::borrowed(key), as_cel(values));
  return cel::Value::map({{cel::Value::string("username"), cel::Value::borrowed(user.name)},
                          {cel::Value::string("uid"), cel::Value::borrowed(user.uid)},
                          {cel::Value::string("groups"), as_cel(user.groups)},
                          {cel::Value::string("extra"), cel::Value::map(std::move(extra))}});
}

Result<cel::Value> evaluate_claims(const cel::Program& program, const cel::Value& variable) {
  auto value = program.evaluate(cel::ValueActivation({variable}));
  if (!value.is_error()) return value;
  return fail(Reason::unauthorized,
              "expression '" + program.source() + "' resulted in error: " + value.failure().message);
}

/// A claim's, as upstream declares it: anything, but dyn() has to say so before a macro ranges over it.
cel::TypeRef any_type() {
  auto type = std::make_shared<cel::Type>();
  type->name = "any";
  return type;
}

/// What "" and null stand for is not there.
Result<std::vector<std::string>> claim_texts(const cel::Value& value) {
  const auto wrong = [] { return fail(Reason::unauthorized, "expression must return a string or a list of strings"); };
  std::vector<std::string> texts;
  const auto add = [&texts](const cel::Value& item) {
    if (!item.is(cel::Kind::string)) return false;
    if (!item.as_text().empty()) texts.emplace_back(item.as_text());
    return true;
  };
  if (value.is(cel::Kind::null)) return texts;
  if (!value.is(cel::Kind::list)) return add(value) ? Result<std::vector<std::string>>(std::move(texts)) : wrong();
  bool all = true;
  value.each_item([&](const cel::Value& item) { return all = add(item); });
  return all ? Result<std::vector<std::string>>(std::move(texts)) : wrong();
}

// Claims
// -----------------------------------------------------------------------------

std::string_view go_kind(const Value& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  return value.is_boolean() ? "bool" : "number";
}

Result<std::string> claim_text(const Value& claims, std::string_view name) {
  const Value claim = claims[name];
  if (claim.missing()) return fail(Reason::unauthorized, "claim not present");
  if (claim.is_string() || claim.is_null()) return claim.string();
  return fail(Reason::unauthorized,
              "json: cannot unmarshal " + std::string(go_kind(claim)) + " into Go value of type string");
}

/// Of one user.
class Mapping {
 public:
  Mapping(const JwtIssuer& issuer, const Value& claims) : issuer_(issuer), claims_(claims) {}

  Result<User> make() {
    for (const auto step : {&Mapping::map_username, &Mapping::map_groups, &Mapping::map_uid, &Mapping::map_extra,
                            &Mapping::check_required, &Mapping::check_claims, &Mapping::check_user})
      if (auto done = (this->*step)(); !done) return fail(done.error());
    return std::move(user_);
  }

 private:
  Outcome map_username() {
    const auto& source = issuer_.username;
    if (source.expression) {
      auto name = text_by("username", *source.expression);
      if (!name) return fail(name.error());
      if (name->empty()) return refuse_claims("empty username via CEL expression is not allowed");
      user_.name = std::move(*name);
      return {};
    }
    const auto name = claim_text(claims_, source.claim);
    if (!name) return refuse_claims("parse username claims " + go_quoted(source.claim) + ": " + name.error().message);
    if (source.claim == "email")
      if (auto verified = check_email(); !verified) return verified;
    user_.name = source.prefix + *name;
    return {};
  }

  Outcome check_email() {
    const Value verified = claims_["email_verified"];
    if (verified.missing()) return {};
    if (!verified.is_boolean() && !verified.is_null())
      return refuse_claims("parse 'email_verified' claim: json: cannot unmarshal " +
                           std::string(verified.is_string() ? "string" : go_kind(verified)) +
                           " into Go value of type bool");
    return verified.boolean() ? Outcome() : refuse_claims("email not verified");
  }

  Outcome map_groups() {
    const auto& source = issuer_.groups;
    const Value claim = source.claim.empty() ? Value() : claims_[source.claim];
    if (!claim.missing()) return take_groups(claim);
    if (!source.expression) return {};
    const auto said = evaluate_claims(*source.expression, variable());
    auto groups = said ? claim_texts(*said) : fail(said.error());
    if (!groups) return refuse_claims("error evaluating group claim expression: " + groups.error().message);
    user_.groups = std::move(*groups);
    return {};
  }

  Outcome take_groups(const Value& claim) {
    const auto wrong = [&](const Value& value) {
      return refuse_claims("parse groups claim " + go_quoted(issuer_.groups.claim) + ": json: cannot unmarshal " +
                           std::string(go_kind(value)) + " into Go value of type string");
    };
    if (claim.is_null()) return {};
    if (!claim.is_array()) {
      if (!claim.is_string()) return wrong(claim);
      user_.groups.push_back(issuer_.groups.prefix + claim.string());
      return {};
    }
    for (const Value group : claim) {
      if (!group.is_string() && !group.is_null()) return wrong(claim);
      user_.groups.push_back(issuer_.groups.prefix + group.string());
    }
    return {};
  }

  Outcome map_uid() {
    const auto& source = issuer_.uid;
    if (source.claim.empty() && !source.expression) return {};
    auto uid = source.expression ? text_by("uid", *source.expression) : claim_text(claims_, source.claim);
    if (!uid && source.expression) return fail(uid.error());
    if (!uid) return refuse_claims("parse uid claim " + go_quoted(source.claim) + ": " + uid.error().message);
    user_.uid = std::move(*uid);
    return {};
  }

  Outcome map_extra() {
    if (const Value id = claims_["jti"]; id.is_string() && !id.text().empty())
      user_.extra.push_back({"authentication.kubernetes.io/credential-id", {"JTI=" + id.string()}});
    for (const auto& [key, program] : issuer_.extra) {
      const auto said = evaluate_claims(program, variable());
      if (!said) return fail(said.error());
      auto values = claim_texts(*said);
      if (!values)
        return refuse_claims("error evaluating extra claim expression: " + program.source() + ": " +
                             values.error().message);
      if (!values->empty()) user_.extra.emplace_back(key, std::move(*values));
    }
    return {};
  }

  Outcome check_required() {
    for (const auto& [claim, value] : issuer_.required_claims) {
      if (!claims_.has(claim)) return refuse_claims("required claim " + claim + " not present in ID token");
      const auto said = claim_text(claims_, claim);
      if (!said) return refuse_claims("parse claim " + claim + ": " + said.error().message);
      if (*said != value)
        return refuse_claims("required claim " + claim + " value does not match. Got = " + *said + ", want = " + value);
    }
    return {};
  }

  Outcome check_claims() {
    return check_rules(issuer_.claim_rules,
                       "error evaluating claim validation expression: ", [this] { return variable(); });
  }
  Outcome check_user() {
    return check_rules(issuer_.user_rules,
                       "error evaluating user info validation rule: ", [this] { return as_cel(user_); });
  }

  template <class MakeVariable>
  static Outcome check_rules(const std::vector<ClaimRule>& rules, const std::string& what, MakeVariable make) {
    if (rules.empty()) return {};
    const cel::Value over = make();
    for (const auto& [expression, message] : rules) {
      const auto said = evaluate_claims(expression, over);
      if (!said) return refuse_claims(what + said.error().message);
      if (!said->is(cel::Kind::boolean)) return refuse_claims(what + "validation expression must return a boolean");
      if (!said->as_bool())
        return refuse_claims(what + "validation expression '" + expression.source() + "' failed: " + message);
    }
    return {};
  }

  Result<std::string> text_by(const std::string& what, const cel::Program& program) {
    const std::string failed = "error evaluating " + what + " claim expression: ";
    const auto said = evaluate_claims(program, variable());
    if (!said) return refuse_claims(failed + said.error().message);
    if (!said->is(cel::Kind::string)) return refuse_claims(failed + what + " claim expression must return a string");
    return std::string(said->as_text());
  }

  /// Made when the first expression asks for it.
  const cel::Value& variable() {
    if (!variable_) variable_ = as_cel(claims_);
    return *variable_;
  }

  const JwtIssuer& issuer_;
  const Value claims_;
  std::optional<cel::Value> variable_;
  User user_;
};

}  // namespace

const cel::Environment& claims_environment() {
  static const cel::Environment environment = [] {
    cel::Environment made(cel::Library::kubernetes);
    made.declare("claims", cel::Type::map(cel::Type::of(cel::Kind::string), any_type()));
    return made;
  }();
  return environment;
}

const cel::Environment& user_environment() {
  static const cel::Environment environment = [] {
    const auto text = cel::Type::of(cel::Kind::string);
    const auto texts = cel::Type::list(text);
    cel::Environment made(cel::Library::kubernetes);
    made.declare("user", cel::Type::object("kubernetes.UserInfo", {{"username", "username", text},
                                                                   {"uid", "uid", text},
                                                                   {"groups", "groups", texts},
                                                                   {"extra", "extra", cel::Type::map(text, texts)}}));
    return made;
  }();
  return environment;
}

Result<User> user_of_claims(const JwtIssuer& issuer, const Value& claims) { return Mapping(issuer, claims).make(); }

}  // namespace sublet::apiserver
