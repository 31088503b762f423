#include "apiserver/filters/impersonation.h"

#include <algorithm>
#include <optional>

#include "apiserver/authz/authorizer.h"
#include "apiserver/authz/request_attributes.h"
#include "apiserver/request/api_groups.h"
#include "apiserver/request/user_names.h"
#include "sublet/base/go_quoted.h"
#include "sublet/base/text.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kNodePrefix = "system:node:";
constexpr std::string_view kExtraPrefix = "impersonate-extra-";

// --- whom the headers name ---

std::string go_list(const std::vector<std::string>& words) {
  std::string text = "[]string";
  if (words.empty()) return text + "(nil)";
  text += "{";
  for (std::size_t i = 0; i < words.size(); ++i) text.append(i ? ", " : "").append(go_quoted(words[i]));
  return text + "}";
}

// As Go shows the structure.
std::string go_user_text(const User& user) {
  std::string text = "&user.DefaultInfo{Name:\"\", UID:" + go_quoted(user.uid) + ", Groups:" + go_list(user.groups) +
                     ", Extra:map[string][]string";
  if (user.extra.empty()) return text + "(nil)}";
  text += "{";
  for (std::size_t i = 0; i < user.extra.size(); ++i)
    text.append(i ? ", " : "").append(go_quoted(user.extra[i].first) + ":" + go_list(user.extra[i].second));
  return text + "}}";
}

void add_extra(User& user, const std::string& key, std::string_view value) {
  for (auto& [known, values] : user.extra)
    if (known == key) return values.emplace_back(value), void();
  user.extra.push_back({key, {std::string(value)}});
}

Result<std::optional<User>> wanted_user(const net::Headers& headers) {
  User user;
  user.name = headers.get("Impersonate-User");
  user.uid = headers.get("Impersonate-Uid");
  for (const auto group : headers.all("Impersonate-Group")) user.groups.emplace_back(group);
  for (const auto& [name, value] : headers) {
    if (name.size() < kExtraPrefix.size()) continue;
    const std::string spelled = to_lower(name);
    if (!spelled.starts_with(kExtraPrefix)) continue;
    const std::string key = spelled.substr(kExtraPrefix.size());
    add_extra(user, net::percent_decode(key).value_or(key), value);
  }
  if (!user.name.empty()) return std::optional<User>(std::move(user));
  if (user.uid.empty() && user.groups.empty() && user.extra.empty()) return std::optional<User>();
  return bad_request("requested " + go_user_text(user) + " without impersonating a user name");
}

// --- who may ---

struct Account {
  std::string_view namespace_name, name;
};
std::optional<Account> account_of(std::string_view user) {
  if (!user.starts_with(kServiceAccountPrefix)) return std::nullopt;
  user.remove_prefix(kServiceAccountPrefix.size());
  const auto colon = user.find(':');
  if (colon == std::string_view::npos || user.find(':', colon + 1) != std::string_view::npos) return std::nullopt;
  const Account account{user.substr(0, colon), user.substr(colon + 1)};
  if (account.namespace_name.empty() || account.name.empty()) return std::nullopt;
  return account;
}

std::string_view node_of(std::string_view user) {
  return user.starts_with(kNodePrefix) ? user.substr(kNodePrefix.size()) : std::string_view();
}

bool is_name_only(const User& user) { return user.uid.empty() && user.groups.empty() && user.extra.empty(); }

bool is_on_node(const User& asker, std::string_view node) {
  for (const auto& [key, values] : asker.extra)
    if (key == "authentication.kubernetes.io/node-name") return values.size() == 1 && values[0] == node;
  return false;
}

struct ImpersonationMode {
  std::string_view name;  // "": the plain verb
  bool (*applies)(const User& wanted, const User& asker);
};
constexpr ImpersonationMode kImpersonationModes[] = {
    {"associated-node",
     [](const User& wanted, const User& asker) {
       return is_name_only(wanted) && !node_of(wanted.name).empty() && account_of(asker.name) &&
              is_on_node(asker, node_of(wanted.name));
     }},
    {"arbitrary-node",
     [](const User& wanted, const User&) { return is_name_only(wanted) && !node_of(wanted.name).empty(); }},
    {"serviceaccount",
     [](const User& wanted, const User&) { return is_name_only(wanted) && account_of(wanted.name).has_value(); }},
    {"user-info",
     [](const User& wanted, const User&) { return node_of(wanted.name).empty() && !account_of(wanted.name); }},
    {"", [](const User&, const User&) { return true; }}};

class ImpersonationCheck {
 public:
  ImpersonationCheck(const RequestContext& context, const ImpersonationMode& mode, const User& wanted)
      : authorizer_(context.core->authorizer),
        asker_(context.user),
        mode_(mode),
        wanted_(wanted),
        verb_(mode.name.empty() ? "impersonate" : "impersonate:" + std::string(mode.name)) {}

  /// After run(): the name alone was allowed.
  bool named() const { return named_; }
  /// The user as he acts then.
  Result<User> run(const Attributes& request) {
    User actual = wanted_;
    if (auto may = act_on(request); !may) return fail(may.error());
    if (auto may = name(actual); !may) return fail(may.error());
    named_ = true;
    if (!wanted_.uid.empty())
      if (auto may = ask(kAuthenticationGroup, "uids", wanted_.uid); !may) return fail(may.error());
    if (auto may = groups(); !may) return fail(may.error());
    for (const auto& [key, values] : wanted_.extra)
      for (const auto& value : values)
        if (auto may = ask(kAuthenticationGroup, "userextras", value, key); !may) return fail(may.error());
    if (actual.name == kAnonymousUser)
      join(actual, kUnauthenticatedGroup);
    else if (!is_in_group(actual, kUnauthenticatedGroup))
      join(actual, kAuthenticatedGroup);
    return actual;
  }

 private:
  static void join(User& user, std::string_view group) {
    if (!is_in_group(user, group)) user.groups.emplace_back(group);
  }

  Attributes attributes(std::string_view group, std::string_view resource, std::string_view name) const {
    Attributes asked;
    asked.user = &asker_;
    asked.verb = verb_;
    asked.group = group;
    asked.resource = resource;
    asked.name = name;
    return asked;
  }

  Outcome ask(std::string_view group, std::string_view resource, std::string_view name, std::string_view sub = {}) {
    Attributes asked = attributes(group, resource, name);
    asked.subresource = sub;
    return authorizer_.check(asked);
  }

  Outcome act_on(const Attributes& request) {
    if (mode_.name.empty()) return {};
    Attributes asked = request;
    const std::string verb = "impersonate-on:" + std::string(mode_.name) + ":" + std::string(request.verb);
    asked.verb = verb;
    return authorizer_.check(asked);
  }

  std::string_view users_group() const { return mode_.name.empty() ? std::string_view() : kAuthenticationGroup; }

  Outcome name(User& actual) {
    Attributes asked = attributes(users_group(), "users", wanted_.name);
    if (const auto node = node_of(wanted_.name); !mode_.name.empty() && !node.empty()) {
      asked.resource = "nodes";
      asked.name = mode_.name == "associated-node" ? std::string_view("*") : node;
      actual.groups = {"system:nodes"};
    }
    if (const auto account = account_of(wanted_.name)) {
      asked.resource = "serviceaccounts";
      asked.namespace_name = account->namespace_name;
      asked.name = account->name;
      if (wanted_.groups.empty())
        actual.groups = {"system:serviceaccounts", "system:serviceaccounts:" + std::string(account->namespace_name)};
    }
    return authorizer_.check(asked);
  }

  Outcome groups() {
    if (!mode_.name.empty())
      for (const auto& [group, why] :
           {std::pair{std::string_view(), "impersonating the empty string group is not allowed"},
            std::pair{kMastersGroup, "impersonating the system:masters group is not allowed"}})
        if (is_in_group(wanted_, group)) return fail(forbidden_status(attributes(users_group(), "groups", group), why));
    for (const auto& group : wanted_.groups)
      if (auto may = ask(users_group(), "groups", group); !may) return may;
    return {};
  }

  const Authorizer& authorizer_;
  const User& asker_;
  const ImpersonationMode& mode_;
  const User& wanted_;
  const std::string verb_;
  bool named_ = false;
};

}  // namespace

Outcome impersonate(RequestContext& context) {
  auto wanted = wanted_user(context.request.headers);
  if (!wanted) return fail(wanted.error());
  if (!*wanted) return {};
  const Attributes request = attributes_of(context);
  std::optional<Status> first;
  for (const ImpersonationMode& mode : kImpersonationModes) {
    if (!mode.applies(**wanted, context.user)) continue;
    ImpersonationCheck check(context, mode, **wanted);
    auto actual = check.run(request);
    if (actual) {
      context.user = std::move(*actual);
      return {};
    }
    if (!first || (mode.name.empty() && check.named())) first = std::move(actual.error());
  }
  return fail(std::move(*first));
}

}  // namespace sublet::apiserver
