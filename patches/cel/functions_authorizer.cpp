// Kubernetes' authorizer library: questions are put together by methods and asked by check(). RBAC looks at no
// selectors, so those are taken and change nothing, as upstream.
#include "patches/cel/functions.h"
#include "sublet/patches/cel_authorizer.h"

namespace sublet::patches::cel {

namespace {

using AuthorityPtr = std::shared_ptr<const Authority>;

// The authorizer itself, and every question on its way to check().
class Asking final : public Opaque {
 public:
  Asking(Kind kind, AuthorityPtr authority, RightsQuestion question)
      : kind_(kind), authority_(std::move(authority)), question_(std::move(question)) {}
  Kind kind() const override { return kind_; }
  bool equals(const Opaque& other) const override { return this == &other; }
  std::string text() const override { return std::string(kind_name(kind_)); }
  /// The question with more in it.
  template <class Change>
  Value with(Kind kind, Change change) const {
    RightsQuestion question = question_;
    change(question);
    return Value::opaque(std::make_shared<const Asking>(kind, authority_, std::move(question)));
  }
  RightsAnswer ask() const { return (*authority_)(question_); }

 private:
  const Kind kind_;
  const AuthorityPtr authority_;
  const RightsQuestion question_;
};

class Decided final : public Opaque {
 public:
  explicit Decided(RightsAnswer answer) : answer_(std::move(answer)) {}
  Kind kind() const override { return Kind::decision; }
  bool equals(const Opaque& other) const override { return this == &other; }
  std::string text() const override { return std::string(kind_name(Kind::decision)); }
  const RightsAnswer& answer() const { return answer_; }

 private:
  const RightsAnswer answer_;
};

const Asking& asking(const Value& value) { return static_cast<const Asking&>(value.as_opaque()); }
const RightsAnswer& decided(const Value& value) { return static_cast<const Decided&>(value.as_opaque()).answer(); }

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos; }

bool is_dns_label(std::string_view text) {
  const auto inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') return false;
  for (const char c : text)
    if (!inner(c)) return false;
  return true;
}

bool is_dns_subdomain(std::string_view text) {
  if (text.size() > 253) return false;
  while (true) {
    const auto dot = text.find('.');
    if (const auto part = text.substr(0, dot);
        part.size() > 63 ? !is_dns_label(part.substr(0, 63)) : !is_dns_label(part))
      return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

Value path_check(Arguments args, Meter&) {
  if (is_blank(args[1].as_text())) return Value::error("path must not be empty");
  return asking(args[0]).with(Kind::path_check, [&](RightsQuestion& question) { question.path = args[1].as_text(); });
}

Value group_check(Arguments args, Meter&) {
  return asking(args[0]).with(Kind::group_check, [&](RightsQuestion& question) { question.group = args[1].as_text(); });
}

Value service_account(Arguments args, Meter&) {
  if (!is_dns_subdomain(args[2].as_text())) return Value::error("Invalid service account name");
  if (!is_dns_label(args[1].as_text())) return Value::error("Invalid service account namespace");
  return asking(args[0]).with(Kind::authorizer, [&](RightsQuestion& question) {
    question.service_account_namespace = args[1].as_text();
    question.service_account = args[2].as_text();
  });
}

Value resource_check(Arguments args, Meter&) {
  if (is_blank(args[1].as_text())) return Value::error("resource must not be empty");
  return asking(args[0]).with(Kind::resource_check,
                              [&](RightsQuestion& question) { question.resource = args[1].as_text(); });
}

template <std::string RightsQuestion::*kMember>
Value refine(Arguments args, Meter&) {
  return asking(args[0]).with(Kind::resource_check,
                              [&](RightsQuestion& question) { question.*kMember = args[1].as_text(); });
}

Value select(Arguments args, Meter&) { return args[0]; }

Value check_right(Arguments args, Meter&) {
  const Value asked =
      asking(args[0]).with(args[0].kind(), [&](RightsQuestion& question) { question.verb = args[1].as_text(); });
  return Value::opaque(std::make_shared<const Decided>(asking(asked).ask()));
}

Value errored(Arguments args, Meter&) { return Value::boolean(!decided(args[0]).error.empty()); }
Value decision_error(Arguments args, Meter&) { return Value::string(decided(args[0]).error); }
Value allowed(Arguments args, Meter&) { return Value::boolean(decided(args[0]).allowed); }
Value reason(Arguments args, Meter&) { return Value::string(decided(args[0]).reason); }

constexpr Overload kAuthorizerOverloads[] = {
    {"path", "authorizer_path", "authorizer.(string) -> path", path_check, Set::authorizer},
    {"group", "authorizer_group", "authorizer.(string) -> group", group_check, Set::authorizer},
    {"serviceAccount", "authorizer_serviceaccount", "authorizer.(string, string) -> authorizer", service_account,
     Set::authorizer},
    {"resource", "groupcheck_resource", "group.(string) -> resource", resource_check, Set::authorizer},
    {"subresource", "resourcecheck_subresource", "resource.(string) -> resource", refine<&RightsQuestion::subresource>,
     Set::authorizer},
    {"namespace", "resourcecheck_namespace", "resource.(string) -> resource", refine<&RightsQuestion::namespace_name>,
     Set::authorizer},
    {"name", "resourcecheck_name", "resource.(string) -> resource", refine<&RightsQuestion::name>, Set::authorizer},
    {"fieldSelector", "authorizer_fieldselector", "resource.(string) -> resource", select, Set::authorizer_selectors},
    {"labelSelector", "authorizer_labelselector", "resource.(string) -> resource", select, Set::authorizer_selectors},
    {"check", "pathcheck_check", "path.(string) -> decision", check_right, Set::authorizer},
    {"check", "resourcecheck_check", "resource.(string) -> decision", check_right, Set::authorizer},
    {"errored", "decision_errored", "decision.() -> bool", errored, Set::authorizer},
    {"error", "decision_error", "decision.() -> string", decision_error, Set::authorizer},
    {"allowed", "decision_allowed", "decision.() -> bool", allowed, Set::authorizer},
    {"reason", "decision_reason", "decision.() -> string", reason, Set::authorizer},
};

// --- jsonpatch: what goes with patches ---

// In Go's NewReplacer both are replaced in one pass, so a "~1" that came of a "/" is not escaped again.
Value escape_key(Arguments args, Meter& meter) {
  std::string escaped;
  meter.work(args[0].as_text().size() / 16);
  for (const char c : args[0].as_text()) {
    if (c == '/')
      escaped += "~1";
    else if (c == '~')
      escaped += "~0";
    else
      escaped += c;
  }
  return Value::string(std::move(escaped));
}

constexpr Overload kPatches[] = {
    {"jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string", "(string) -> string", escape_key, Set::patches},
};

}  // namespace

std::span<const Overload> authorizer_table() { return kAuthorizerOverloads; }
std::span<const Overload> patch_table() { return kPatches; }

Value authorizer_value(AuthorityPtr authority) {
  return Value::opaque(std::make_shared<const Asking>(Kind::authorizer, std::move(authority), RightsQuestion()));
}

Value resource_check_value(AuthorityPtr authority, RightsQuestion about) {
  return Value::opaque(std::make_shared<const Asking>(Kind::resource_check, std::move(authority), std::move(about)));
}

}  // namespace sublet::patches::cel
