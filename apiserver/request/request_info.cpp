#include "apiserver/request/request_info.h"

#include "sublet/kube/query_flag.h"

namespace sublet::apiserver {
namespace {

struct VerbFacts {
  Verb verb;
  std::string_view name;
};
constexpr VerbFacts kVerbNames[] = {
    {Verb::get, "get"},       {Verb::list, "list"},
    {Verb::watch, "watch"},   {Verb::create, "create"},
    {Verb::update, "update"}, {Verb::patch, "patch"},
    {Verb::remove, "delete"}, {Verb::remove_collection, "deletecollection"},
    {Verb::other, ""},
};

struct MethodFacts {
  std::string_view method;
  Verb with_name, on_collection;
};
constexpr MethodFacts kMethodVerbs[] = {
    {"GET", Verb::get, Verb::list},       {"HEAD", Verb::get, Verb::list},
    {"POST", Verb::create, Verb::create}, {"PUT", Verb::update, Verb::other},
    {"PATCH", Verb::patch, Verb::other},  {"DELETE", Verb::remove, Verb::remove_collection},
};

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const auto slash = path.find('/');
    if (slash != 0) parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return parts;
}

std::string decoded_part(std::string_view part) { return net::percent_decode(part).value_or(std::string(part)); }

// "namespaces/x/finalize" and "/status" are subresources of the namespace, not resources in it.
bool is_namespace_subresource(std::string_view part) { return part == "status" || part == "finalize"; }

using PathParts = std::vector<std::string_view>;

void read_resource(RequestInfo& info, const PathParts& parts, std::size_t at) {
  if (at + 1 < parts.size() && parts[at] == "namespaces") {
    if (at + 2 < parts.size() && !is_namespace_subresource(parts[at + 2])) {
      info.namespace_name = decoded_part(parts[at + 1]);
      info.has_namespace = true;
      at += 2;
    }
  }
  info.resource = decoded_part(parts[at]);
  if (at + 1 < parts.size()) info.name = decoded_part(parts[at + 1]);
  if (at + 2 < parts.size()) info.subresource = decoded_part(parts[at + 2]);
}

Verb verb_of(const net::Request& request, const Query& query, const RequestInfo& info, bool watch_prefix) {
  for (const auto& facts : kMethodVerbs) {
    if (facts.method != request.method) continue;
    const Verb verb = info.name.empty() ? facts.on_collection : facts.with_name;
    const bool reads = verb == Verb::list || (verb == Verb::get && info.subresource.empty());
    if (watch_prefix && reads) return Verb::watch;
    return verb == Verb::list && query.flag("watch") ? Verb::watch : verb;
  }
  return Verb::other;
}

}  // namespace

std::string_view verb_name(Verb verb) {
  for (const auto& facts : kVerbNames)
    if (facts.verb == verb) return facts.name;
  return "";
}

std::optional<std::string_view> Query::find(std::string_view name) const {
  for (const auto& [key, value] : fields_)
    if (key == name) return std::string_view(value);
  return std::nullopt;
}

std::vector<std::string_view> Query::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : fields_)
    if (key == name) values.emplace_back(value);
  return values;
}

bool Query::flag(std::string_view name) const {
  const auto value = find(name);
  return value && kube::query_flag(*value);
}

RequestInfo parse_request_info(const net::Request& request, const Query& query) {
  RequestInfo info;
  const std::string_view raw = request.path();
  info.path = decoded_part(raw);
  const PathParts parts = split_path(raw);
  const bool core = parts.size() >= 3 && parts[0] == "api";
  const bool grouped = parts.size() >= 4 && parts[0] == "apis";
  if (!core && !grouped) return info;
  std::size_t at = 1;
  if (grouped) info.group = decoded_part(parts[at++]);
  info.version = decoded_part(parts[at++]);
  const bool watch_prefix = parts[at] == "watch" && at + 1 < parts.size();
  if (watch_prefix) ++at;
  read_resource(info, parts, at);
  info.is_resource = true;
  info.verb = verb_of(request, query, info, watch_prefix);
  return info;
}

}  // namespace sublet::apiserver
