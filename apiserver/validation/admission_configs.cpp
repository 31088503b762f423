#include "apiserver/validation/admission_configs.h"

#include <algorithm>
#include <set>

#include "apiserver/request/text_list.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/policy_expressions.h"
#include "sublet/base/text.h"

namespace sublet::apiserver {
namespace {

using schema::Value;
using Choices = std::span<const std::string_view>;

constexpr std::string_view kFailurePolicies[] = {"Fail", "Ignore"}, kMatchPolicies[] = {"Equivalent", "Exact"},
                           kSideEffects[] = {"None", "NoneOnDryRun"}, kRuleScopes[] = {"*", "Cluster", "Namespaced"},
                           kOperations[] = {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"},
                           kMutatingOperations[] = {"*", "CONNECT", "CREATE", "UPDATE"},
                           kReinvocations[] = {"IfNeeded", "Never"}, kValidationActions[] = {"Audit", "Deny", "Warn"},
                           kDenialReasons[] = {"Forbidden", "Invalid", "RequestEntityTooLarge"},
                           kMutationPatchTypes[] = {"ApplyConfiguration", "JSONPatch"},
                           kNotFoundActions[] = {"Deny", "Allow"};

bool absent(const Value& value) { return value.missing() || value.is_null(); }

void choice(Causes& causes, const std::string& field, const Value& value, Choices names) {
  if (!absent(value) && !contains_text(names, value.text())) not_supported(causes, field, value, names);
}

void needed_choice(Causes& causes, const std::string& field, const Value& value, Choices names) {
  if (absent(value)) return required(causes, field);
  choice(causes, field, value, names);
}

bool has_entry(const Value& list, std::string_view text) {
  for (const Value entry : list)
    if (entry.text() == text) return true;
  return false;
}

// A list whose only entry is "*".
void wildcard_list(Causes& causes, const std::string& field, const Value& list, std::string_view others,
                   bool takes_empty) {
  if (list.empty()) required(causes, field);
  if (list.size() > 1 && has_entry(list, "*"))
    invalid(causes, field, list, "if '*' is present, must not specify other " + std::string(others));
  std::size_t index = 0;
  for (const Value entry : list) {
    if (!takes_empty && entry.text().empty()) required(causes, item(field, index));
    ++index;
  }
}

void validate_resources(Causes& causes, const std::string& field, const Value& resources) {
  if (resources.empty()) required(causes, field);
  std::set<std::string, std::less<>> all_of_resource, of_all_resources;
  bool any = false, any_plain = false, plain = false;
  std::size_t index = 0;
  for (const Value entry : resources) {
    const std::string at = item(field, index++), text = entry.string();
    if (text.empty()) {
      required(causes, at);
      continue;
    }
    any = any || text == "*/*";
    any_plain = any_plain || text == "*";
    const auto slash = text.find('/');
    if (slash == std::string::npos) {
      plain = text != "*";
      continue;
    }
    const std::string resource = text.substr(0, slash), sub = text.substr(slash + 1);
    if (all_of_resource.contains(resource))
      invalid(causes, at, text, "if '" + resource + "/*' is present, must not specify " + text);
    if (of_all_resources.contains(sub))
      invalid(causes, at, text, "if '*/" + sub + "' is present, must not specify " + text);
    if (sub == "*") all_of_resource.insert(resource);
    if (resource == "*") of_all_resources.insert(sub);
  }
  if (resources.size() > 1 && any)
    invalid(causes, field, resources, "if '*/*' is present, must not specify other resources");
  if (any_plain && plain)
    invalid(causes, field, resources, "if '*' is present, must not specify other resources without subresources");
}

void validate_match_rule(Causes& causes, const std::string& path, const Value& rule) {
  const Value operations = rule["operations"];
  if (operations.empty()) required(causes, path + ".operations");
  if (operations.size() > 1 && has_entry(operations, "*"))
    invalid(causes, path + ".operations", operations, "if '*' is present, must not specify other operations");
  std::size_t index = 0;
  for (const Value operation : operations) choice(causes, item(path + ".operations", index++), operation, kOperations);
  wildcard_list(causes, path + ".apiGroups", rule["apiGroups"], "API groups", true);
  wildcard_list(causes, path + ".apiVersions", rule["apiVersions"], "API versions", false);
  validate_resources(causes, path + ".resources", rule["resources"]);
  choice(causes, path + ".scope", rule["scope"], kRuleScopes);
}

// --- expressions ---

void validate_policy_expression(Causes& causes, const std::string& field, const PolicyExpression& expression) {
  if (!expression.problem.empty()) invalid(causes, field, expression.source, expression.problem);
}

void validate_match_conditions(Causes& causes, const std::string& path, const Value& conditions, bool params) {
  constexpr std::size_t kConditionsMax = 64;
  if (conditions.size() > kConditionsMax) too_many(causes, path, conditions.size(), kConditionsMax);
  if (conditions.empty()) return;
  const PolicyEnvironment environment({.params = params});
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const Value condition : conditions) {
    const std::string at = item(path, index++);
    const auto source = trimmed(condition["expression"].text());
    if (source.empty())
      required(causes, at + ".expression");
    else
      validate_policy_expression(causes, at + ".expression", compile_expression(source, environment, Gives::boolean));
    const auto name = condition["name"].text();
    if (name.empty()) {
      required(causes, at + ".name");
      continue;
    }
    invalid_each(causes, at + ".name", name, qualified_name(name));
    if (!names.insert(name).second) duplicate(causes, at + ".name", name);
  }
}

bool is_identifier(std::string_view name) {
  constexpr std::string_view kReserved[] = {"true",     "false",   "null",      "in",       "as",  "break",  "const",
                                            "continue", "else",    "for",       "function", "if",  "import", "let",
                                            "loop",     "package", "namespace", "return",   "var", "void",   "while"};
  const auto letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (name.empty() || !letter(name.front())) return false;
  return std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); }) &&
         !contains_text(kReserved, name);
}

void validate_variables(Causes& causes, const Value& variables, PolicyEnvironment& environment) {
  std::size_t index = 0;
  for (const Value variable : variables) {
    const std::string at = item("spec.variables", index++), name = variable["name"].string();
    if (trimmed(name).empty())
      required(causes, at + ".name", "name is not specified");
    else if (!is_identifier(name))
      invalid(causes, at + ".name", name, "must be a valid CEL identifier");
    if (trimmed(variable["expression"].text()).empty()) {
      required(causes, at + ".expression", "expression is not specified");
      continue;
    }
    const auto expression = compile_expression(variable["expression"].text(), environment, Gives::anything);
    validate_policy_expression(causes, at + ".expression", expression);
    environment.add_variable(name, expression.program ? &*expression.program : nullptr);
  }
}

void validate_validation(Causes& causes, const std::string& path, const Value& validation,
                         const PolicyEnvironment& environment) {
  const Value expression = validation["expression"], says = validation["messageExpression"],
              message = validation["message"];
  if (trimmed(expression.text()).empty())
    required(causes, path + ".expression", "expression is not specified");
  else
    validate_policy_expression(causes, path + ".expression",
                               compile_expression(expression.text(), environment, Gives::boolean));
  if (!says.text().empty() && trimmed(says.text()).empty())
    invalid(causes, path + ".messageExpression", says, "must be non-empty if specified");
  else if (!says.text().empty())
    validate_policy_expression(causes, path + ".messageExpression",
                               compile_expression(says.text(), environment.without_authorizer(), Gives::text));
  if (!message.text().empty() && trimmed(message.text()).empty())
    invalid(causes, path + ".message", message, "must be non-empty if specified");
  else if (trimmed(message.text()).find_first_of("\r\n") != std::string_view::npos)
    invalid(causes, path + ".message", message, "must not contain line breaks");
  choice(causes, path + ".reason", validation["reason"], kDenialReasons);
}

void validate_audit_annotation(Causes& causes, const std::string& path, const Value& policy, const Value& annotation,
                               const PolicyEnvironment& environment) {
  constexpr std::size_t kExpressionMax = 5 * 1024;
  const std::string key = annotation["key"].string(), name = policy["metadata"]["name"].string();
  if (name.empty())
    invalid(causes, path + ".key", key, "requires metadata.name be non-empty");
  else
    invalid_each(causes, path + ".key", name + "/" + key, qualified_name(name + "/" + key));
  const auto source = trimmed(annotation["valueExpression"].text());
  if (source.empty()) return required(causes, path + ".valueExpression", "valueExpression is not specified");
  if (source.size() > kExpressionMax)
    return required(causes, path + ".valueExpression",
                    "must not exceed " + std::to_string(kExpressionMax) + " bytes in length");
  const auto expression = compile_expression(source, environment, Gives::text_or_null);
  if (!expression.problem.empty())
    invalid(causes, path + ".valueExpression", annotation["valueExpression"], expression.problem);
}

void validate_audit_annotations(Causes& causes, const Value& policy, const PolicyEnvironment& environment) {
  constexpr std::size_t kAnnotationsMax = 20;
  const Value annotations = policy["spec"]["auditAnnotations"];
  if (annotations.size() > kAnnotationsMax)
    invalid(causes, "spec.auditAnnotations", annotations,
            "must not have more than " + std::to_string(kAnnotationsMax) + " auditAnnotations");
  std::set<std::string_view> keys;
  std::size_t index = 0;
  for (const Value annotation : annotations) {
    const std::string at = item("spec.auditAnnotations", index++);
    validate_audit_annotation(causes, at, policy, annotation, environment);
    const auto key = annotation["key"].text();
    if (!keys.insert(key).second) duplicate(causes, at + ".key", key);
  }
}

// --- policies ---

void validate_param_kind(Causes& causes, const Value& kind) {
  const std::string path = "spec.paramKind", version = kind["apiVersion"].string(), name = kind["kind"].string();
  if (version.empty()) {
    required(causes, path + ".apiVersion");
  } else if (std::ranges::count(version, '/') > 1) {
    invalid(causes, path + ".apiVersion", version, "unexpected GroupVersion string: " + version);
  } else {
    const auto slash = version.find('/');
    const std::string group = slash == std::string::npos ? std::string() : version.substr(0, slash);
    const std::string number = slash == std::string::npos ? version : version.substr(slash + 1);
    if (const auto wrong = dns1123_subdomain(group); !group.empty() && !wrong.empty())
      invalid(causes, path + ".apiVersion", group, join(wrong, ","));
    if (number.empty())
      invalid(causes, path + ".apiVersion", version, "version must be specified");
    else if (const auto wrong = dns1035_label(number); !wrong.empty())
      invalid(causes, path + ".apiVersion", number, join(wrong, ","));
  }
  if (name.empty()) return required(causes, path + ".kind");
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; });
  if (const auto wrong = dns1035_label(lower); !wrong.empty())
    invalid(causes, path + ".kind", name, "may have mixed case, but should otherwise match: " + join(wrong, ","));
}

void validate_named_rules(Causes& causes, const std::string& path, const Value& rules) {
  std::size_t index = 0;
  for (const Value rule : rules) {
    const std::string at = item(path, index++);
    std::set<std::string_view> names;
    std::size_t place = 0;
    for (const Value name : rule["resourceNames"]) {
      const std::string here = item(at + ".resourceNames", place++);
      invalid_each(causes, here, name, path_segment_name(name.text()));
      if (!names.insert(name.text()).second) duplicate(causes, here, name);
    }
    validate_match_rule(causes, at, rule);
  }
}

void validate_match_resources(Causes& causes, const std::string& path, const Value& match) {
  needed_choice(causes, path + ".matchPolicy", match["matchPolicy"], kMatchPolicies);
  for (const char* name : {"namespaceSelector", "objectSelector"}) {
    if (match[name].missing())
      required(causes, child(path, name));
    else
      validate_label_selector(causes, child(path, name), match[name]);
  }
  validate_named_rules(causes, path + ".resourceRules", match["resourceRules"]);
  validate_named_rules(causes, path + ".excludeResourceRules", match["excludeResourceRules"]);
}

// What the specs of both kinds of policy begin with.
void validate_policy_head(Causes& causes, const Value& spec) {
  needed_choice(causes, "spec.failurePolicy", spec["failurePolicy"], kFailurePolicies);
  if (spec.has("paramKind")) validate_param_kind(causes, spec["paramKind"]);
  const Value match = spec["matchConstraints"];
  if (match.missing()) return required(causes, "spec.matchConstraints");
  validate_match_resources(causes, "spec.matchConstraints", match);
  if (match["resourceRules"].empty()) required(causes, "spec.matchConstraints.resourceRules");
}

void validate_mutation(Causes& causes, const std::string& path, const Value& mutation,
                       const PolicyEnvironment& environment) {
  const Value type = mutation["patchType"];
  if (type.text().empty()) return required(causes, path + ".patchType");
  if (!contains_text(kMutationPatchTypes, type.text()))
    return not_supported(causes, path + ".patchType", type, kMutationPatchTypes);
  const bool json = type.text() == "JSONPatch";
  const std::string wanted = json ? "jsonPatch" : "applyConfiguration",
                    other = json ? "applyConfiguration" : "jsonPatch";
  if (!mutation.has(wanted)) {
    required(causes, child(path, wanted), "must be specified when patchType is " + type.string());
  } else if (const auto source = trimmed(mutation[wanted]["expression"].text()); source.empty()) {
    required(causes, child(path, wanted) + ".expression");
  } else {
    validate_policy_expression(
        causes, child(path, wanted) + ".expression",
        compile_expression(source, environment.with_patches(), json ? Gives::json_patches : Gives::object_patch));
  }
  if (mutation.has(other))
    invalid(causes, child(path, other), "{" + other + "}", "must not be specified when patchType is " + type.string());
}

void validate_param_ref(Causes& causes, const Value& ref) {
  const std::string path = "spec.paramRef";
  if (ref.missing()) return;
  constexpr std::string_view kExclusive = "name and selector are mutually exclusive";
  const bool named = !ref["name"].text().empty(), selects = ref.has("selector");
  if (named) invalid_each(causes, path + ".name", ref["name"], path_segment_name(ref["name"].text()));
  if (named && selects) forbidden(causes, path + ".name", kExclusive);
  if (selects) validate_label_selector(causes, path + ".selector", ref["selector"]);
  if (named && selects) forbidden(causes, path + ".selector", kExclusive);
  if (!named && !selects) required(causes, path, "one of name or selector must be specified");
  if (ref["parameterNotFoundAction"].text().empty()) return required(causes, path + ".parameterNotFoundAction");
  choice(causes, path + ".parameterNotFoundAction", ref["parameterNotFoundAction"], kNotFoundActions);
}

void validate_binding_head(Causes& causes, const Value& spec) {
  const Value policy = spec["policyName"];
  if (policy.text().empty())
    required(causes, "spec.policyName");
  else
    invalid_each(causes, "spec.policyName", policy, dns1123_subdomain(policy.text()));
  validate_param_ref(causes, spec["paramRef"]);
  if (spec.has("matchResources")) validate_match_resources(causes, "spec.matchResources", spec["matchResources"]);
}

void validate_actions(Causes& causes, const Value& list) {
  const std::string path = "spec.validationActions";
  std::set<std::string_view> actions;
  std::size_t index = 0;
  for (const Value action : list) {
    const std::string at = item(path, index++);
    choice(causes, at, action, kValidationActions);
    if (!actions.insert(action.text()).second) duplicate(causes, at, action);
  }
  if (actions.contains("Deny") && actions.contains("Warn"))
    invalid(
        causes, path, list,
        "must not contain both Deny and Warn (repeating the same validation failure information in the API response "
        "and headers serves no purpose)");
  if (actions.empty()) required(causes, path, "at least one validation action is required");
}

// --- webhooks ---

void validate_webhook_name(Causes& causes, const std::string& path, const Value& name) {
  if (name.text().empty()) return required(causes, path);
  if (const auto wrong = dns1123_subdomain(name.text()); !wrong.empty())
    return invalid(causes, path, name, join(wrong, ","));
  if (std::ranges::count(name.text(), '.') < 2)
    invalid(causes, path, name, "should be a domain with at least three segments separated by dots");
}

/// What Go's url.Parse says of a text that it cannot take apart; "" when it can.
std::string url_problem(std::string_view text) {
  const auto is_letter = [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; };
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f'); };
  if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return "net/url: invalid control character in URL";
  std::size_t end = 0;
  while (end < text.size() && (is_letter(text[end]) || (end > 0 && (is_hex(text[end]) || text[end] == '+' ||
                                                                    text[end] == '-' || text[end] == '.'))))
    ++end;
  const bool colon = end < text.size() && text[end] == ':';
  if (colon && end == 0) return "missing protocol scheme";
  auto rest = colon ? text.substr(end + 1) : text;
  rest = rest.substr(0, rest.find('#'));
  const auto path = rest.substr(0, rest.find('?'));
  if (!colon && !path.starts_with('/') && path.substr(0, path.find('/')).find(':') != std::string_view::npos)
    return "first path segment in URL cannot contain colon";
  for (std::size_t at = path.find('%'); at != std::string_view::npos; at = path.find('%', at + 1))
    if (at + 2 >= path.size() || !is_hex(path[at + 1]) || !is_hex(path[at + 2]))
      return "invalid URL escape " + BadValue(path.substr(at, 3)).text();
  return {};
}

void validate_url(Causes& causes, const std::string& path, const Value& url) {
  const std::string form = "; desired format: https://host[/path]";
  if (const auto problem = url_problem(url.text()); !problem.empty())
    return required(causes, path,
                    "url must be a valid URL: parse " + BadValue(url.text()).text() + ": " + problem + form);
  std::string_view rest = url.text();
  const auto scheme_end = rest.find("://");
  const std::string_view scheme =
      scheme_end == std::string_view::npos ? std::string_view() : rest.substr(0, scheme_end);
  if (scheme != "https") invalid(causes, path, scheme, "'https' is the only allowed URL scheme" + form);
  if (scheme_end != std::string_view::npos) rest.remove_prefix(scheme_end + 3);
  const auto fragment = rest.find('#');
  const std::string_view before = rest.substr(0, fragment);
  const auto query = before.find('?');
  const std::string_view authority = before.substr(0, std::min(before.find('/'), query));
  const auto user = authority.rfind('@');
  const std::string_view host = user == std::string_view::npos ? authority : authority.substr(user + 1);
  if (scheme_end == std::string_view::npos || host.empty()) invalid(causes, path, "", "host must be specified" + form);
  if (user != std::string_view::npos)
    invalid(causes, path, authority.substr(0, user), "user information is not permitted in the URL");
  if (fragment != std::string_view::npos && fragment + 1 < rest.size())
    invalid(causes, path, rest.substr(fragment + 1), "fragments are not permitted in the URL");
  if (query != std::string_view::npos && query + 1 < before.size())
    invalid(causes, path, before.substr(query + 1), "query parameters are not permitted in the URL");
}

void validate_service_path(Causes& causes, const std::string& path, const Value& value) {
  std::string_view text = value.text();
  if (text.empty() || text == "/") return;
  if (text == "//") return invalid(causes, path, value, "segment[0] may not be empty");
  if (text.front() != '/') invalid(causes, path, value, "must start with a '/'");
  text.remove_prefix(1);
  if (text.ends_with("/")) text.remove_suffix(1);
  for (std::size_t index = 0;; ++index) {
    const auto slash = text.find('/');
    const std::string_view step = text.substr(0, slash);
    const std::string segment = "segment[" + std::to_string(index) + "]";
    if (step.empty()) invalid(causes, path, value, segment + " may not be empty");
    if (!step.empty())
      for (const auto& wrong : dns1123_subdomain(step)) invalid(causes, path, value, segment + ": " + wrong);
    if (slash == std::string_view::npos) return;
    text.remove_prefix(slash + 1);
  }
}

// Upstream hands the two names over in the other order, so an empty namespace is reported as a missing name.
void validate_webhook_service(Causes& causes, const std::string& path, const Value& service) {
  if (service["namespace"].text().empty()) required(causes, path + ".name");
  if (service["name"].text().empty()) required(causes, path + ".namespace");
  if (const auto wrong = port_number(service["port"].integer()); !wrong.empty())
    invalid(causes, path + ".port", service["port"], "port is not valid: " + join(wrong, ", "));
  if (service.has("path")) validate_service_path(causes, path + ".path", service["path"]);
}

void validate_client_config(Causes& causes, const std::string& path, const Value& client) {
  if (client.has("url") == client.has("service"))
    return required(causes, path, "exactly one of url or service is required");
  if (client.has("url")) return validate_url(causes, path + ".url", client["url"]);
  validate_webhook_service(causes, path + ".service", client["service"]);
}

void validate_review_versions(Causes& causes, const std::string& path, const Value& versions) {
  if (versions.empty()) return required(causes, path, "must specify one of v1, v1beta1");
  std::set<std::string_view> seen;
  bool known = false;
  std::size_t index = 0;
  for (const Value version : versions) {
    const std::string at = item(path, index++);
    if (!seen.insert(version.text()).second) {
      invalid(causes, at, version, "duplicate version");
      continue;
    }
    invalid_each(causes, at, version, dns1035_label(version.text()));
    known = known || version.text() == "v1" || version.text() == "v1beta1";
  }
  if (!known) invalid(causes, path, versions, "must include at least one of v1, v1beta1");
}

void validate_webhook(Causes& causes, const std::string& path, const Value& hook, bool mutating) {
  validate_webhook_name(causes, path + ".name", hook["name"]);
  std::size_t index = 0;
  for (const Value rule : hook["rules"]) validate_match_rule(causes, item(path + ".rules", index++), rule);
  choice(causes, path + ".failurePolicy", hook["failurePolicy"], kFailurePolicies);
  choice(causes, path + ".matchPolicy", hook["matchPolicy"], kMatchPolicies);
  if (absent(hook["sideEffects"])) required(causes, path + ".sideEffects", "must specify one of None, NoneOnDryRun");
  choice(causes, path + ".sideEffects", hook["sideEffects"], kSideEffects);
  if (const auto seconds = hook["timeoutSeconds"].integer(1); seconds < 1 || seconds > 30)
    invalid(causes, path + ".timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds");
  for (const char* name : {"namespaceSelector", "objectSelector"})
    if (hook.has(name)) validate_label_selector(causes, child(path, name), hook[name]);
  if (mutating) choice(causes, path + ".reinvocationPolicy", hook["reinvocationPolicy"], kReinvocations);
  validate_client_config(causes, path + ".clientConfig", hook["clientConfig"]);
  validate_match_conditions(causes, path + ".matchConditions", hook["matchConditions"], false);
  validate_review_versions(causes, path + ".admissionReviewVersions", hook["admissionReviewVersions"]);
}

void validate_webhooks(const Value& configuration, Causes& causes, bool mutating) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const Value hook : configuration["webhooks"]) {
    const std::string path = item("webhooks", index++);
    validate_webhook(causes, path, hook, mutating);
    const auto name = hook["name"].text();
    if (!name.empty() && !names.insert(name).second) duplicate(causes, path + ".name", name);
  }
}

}  // namespace

void validate_validating_webhooks(const Value& configuration, Causes& causes) {
  validate_webhooks(configuration, causes, false);
}

void validate_mutating_webhooks(const Value& configuration, Causes& causes) {
  validate_webhooks(configuration, causes, true);
}

void validate_validating_policy(const Value& policy, Causes& causes) {
  const Value spec = policy["spec"];
  const bool params = spec.has("paramKind");
  validate_policy_head(causes, spec);
  validate_match_conditions(causes, "spec.matchConditions", spec["matchConditions"], params);
  PolicyEnvironment environment({.params = params});
  if (!spec["variables"].empty()) environment.compose();
  validate_variables(causes, spec["variables"], environment);
  if (spec["validations"].empty() && spec["auditAnnotations"].empty()) {
    constexpr std::string_view kOne = "validations or auditAnnotations must contain at least one item";
    required(causes, "spec.validations", kOne);
    return required(causes, "spec.auditAnnotations", kOne);
  }
  std::size_t index = 0;
  for (const Value validation : spec["validations"])
    validate_validation(causes, item("spec.validations", index++), validation, environment);
  validate_audit_annotations(causes, policy, environment);
}

void validate_mutating_policy(const Value& policy, Causes& causes) {
  const Value spec = policy["spec"];
  const bool params = spec.has("paramKind");
  validate_policy_head(causes, spec);
  for (const Value rule : spec["matchConstraints"]["resourceRules"])
    for (const Value operation : rule["operations"])
      choice(causes, "spec.matchConstraints.resourceRules.operations", operation, kMutatingOperations);
  validate_match_conditions(causes, "spec.matchConditions", spec["matchConditions"], params);
  PolicyEnvironment environment({.params = params});
  environment.compose();
  validate_variables(causes, spec["variables"], environment);
  if (spec["mutations"].empty()) required(causes, "spec.mutations", "mutations must contain at least one item");
  std::size_t index = 0;
  for (const Value mutation : spec["mutations"])
    validate_mutation(causes, item("spec.mutations", index++), mutation, environment);
  if (spec["reinvocationPolicy"].text().empty()) return required(causes, "spec.reinvocationPolicy");
  choice(causes, "spec.reinvocationPolicy", spec["reinvocationPolicy"], kReinvocations);
}

void validate_validating_binding(const Value& binding, Causes& causes) {
  validate_binding_head(causes, binding["spec"]);
  validate_actions(causes, binding["spec"]["validationActions"]);
}

void validate_mutating_binding(const Value& binding, Causes& causes) {
  validate_binding_head(causes, binding["spec"]);
  for (const Value rule : binding["spec"]["matchResources"]["resourceRules"])
    for (const Value operation : rule["operations"])
      choice(causes, "spec.matchResources.resourceRules.operations", operation, kMutatingOperations);
}

}  // namespace sublet::apiserver
