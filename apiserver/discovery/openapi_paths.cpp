#include "apiserver/discovery/openapi_paths.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::Registry;
using schema::ResourceFacts;
using schema::SubresourceFacts;
using schema::Type;

constexpr ApiParameter kDryRun{"dryRun", "string", "All: every step but the last is done, and nothing is stored"};
constexpr ApiParameter kFieldManager{"fieldManager", "string", "name of the actor that makes the change"};
constexpr ApiParameter kFieldValidation{"fieldValidation", "string",
                                        "what unknown and duplicate fields lead to: Ignore, Warn or Strict"};
constexpr ApiParameter kForce{"force", "boolean", "apply takes fields over from other managers"};
constexpr ApiParameter kContinue{"continue", "string", "token of the next page, from the page before"};
constexpr ApiParameter kFieldSelector{"fieldSelector", "string", "restricts the objects by their fields"};
constexpr ApiParameter kLabelSelector{"labelSelector", "string", "restricts the objects by their labels"};
constexpr ApiParameter kLimit{"limit", "integer", "most objects of one page"};
constexpr ApiParameter kResourceVersion{"resourceVersion", "string", "from which version on, or exactly which"};
constexpr ApiParameter kResourceVersionMatch{"resourceVersionMatch", "string", "how resourceVersion is meant"};
constexpr ApiParameter kSendInitialEvents{"sendInitialEvents", "boolean", "a watch begins with what exists"};
constexpr ApiParameter kTimeoutSeconds{"timeoutSeconds", "integer", "longest time of a list or watch"};
constexpr ApiParameter kGracePeriod{"gracePeriodSeconds", "integer", "time until the object is removed"};
constexpr ApiParameter kOrphan{"orphanDependents", "boolean", "deprecated: say propagationPolicy"};
constexpr ApiParameter kPropagation{"propagationPolicy", "string", "what happens to dependents"};

constexpr ApiParameter kListParameters[] = {
    {"allowWatchBookmarks", "boolean", "a watch also tells versions without events"},
    kContinue,
    kFieldSelector,
    kLabelSelector,
    kLimit,
    kResourceVersion,
    kResourceVersionMatch,
    kSendInitialEvents,
    kTimeoutSeconds,
    {"watch", "boolean", "stream of changes in place of a list"},
};
constexpr ApiParameter kWriteParameters[] = {kDryRun, kFieldManager, kFieldValidation};
constexpr ApiParameter kPatchParameters[] = {kDryRun, kFieldManager, kFieldValidation, kForce};
constexpr ApiParameter kDeleteParameters[] = {kDryRun, kGracePeriod, kOrphan, kPropagation};
constexpr ApiParameter kDeleteCollectionParameters[] = {
    kContinue, kDryRun,      kFieldSelector,   kGracePeriod,          kLabelSelector,     kLimit,
    kOrphan,   kPropagation, kResourceVersion, kResourceVersionMatch, kSendInitialEvents, kTimeoutSeconds};

constexpr std::string_view kOk[] = {"200"};
constexpr std::string_view kOkCreated[] = {"200", "201"};
constexpr std::string_view kOkCreatedAccepted[] = {"200", "201", "202"};
constexpr std::string_view kOkAccepted[] = {"200", "202"};

enum class Body { none, kind, delete_options };
enum class AnswerBody { kind, list, status };

/// What one discovery verb means over HTTP.
struct ApiVerb {
  std::string_view verb, method, action, id_word;
  bool on_collection;
  Body body;
  AnswerBody answer;
  std::span<const ApiParameter> parameters;
  std::span<const std::string_view> codes;
};

constexpr ApiVerb kApiVerbs[] = {
    {"list", "get", "list", "list", true, Body::none, AnswerBody::list, kListParameters, kOk},
    {"create", "post", "post", "create", true, Body::kind, AnswerBody::kind, kWriteParameters, kOkCreatedAccepted},
    {"deletecollection", "delete", "deletecollection", "deleteCollection", true, Body::delete_options,
     AnswerBody::status, kDeleteCollectionParameters, kOk},
    {"get", "get", "get", "read", false, Body::none, AnswerBody::kind, {}, kOk},
    {"update", "put", "put", "replace", false, Body::kind, AnswerBody::kind, kWriteParameters, kOkCreated},
    {"patch", "patch", "patch", "patch", false, Body::none, AnswerBody::kind, kPatchParameters, kOkCreated},
    {"delete", "delete", "delete", "delete", false, Body::delete_options, AnswerBody::status, kDeleteParameters,
     kOkAccepted},
};

/// Subresources that hand the connection over; their discovery verbs are HTTP methods in disguise.
constexpr std::string_view kConnecting[] = {"attach", "exec", "portforward", "proxy"};
constexpr std::string_view kStreamMethods[] = {"get", "post"};
constexpr std::string_view kProxyMethods[] = {"delete", "get", "head", "options", "patch", "post", "put"};

std::string capitalized(std::string_view word) {
  std::string made(word);
  if (!made.empty()) made[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(made[0])));
  return made;
}

/// "RbacAuthorizationV1": the group's labels but for k8s.io, and the version.
std::string id_prefix(std::string_view group, std::string_view version) {
  if (group.empty()) return "Core" + capitalized(version);
  if (group.ends_with(".k8s.io")) group.remove_suffix(7);
  std::string made;
  while (!group.empty()) {
    std::size_t dot = std::min(group.find('.'), group.size());
    made += capitalized(group.substr(0, dot));
    group.remove_prefix(std::min(dot + 1, group.size()));
  }
  return made + capitalized(version);
}

class Surface {
 public:
  Surface(const Registry& kinds, std::string_view group, std::string_view version)
      : kinds_(kinds),
        group_(group),
        version_(version),
        root_(api_root(group, version)),
        id_(id_prefix(group, version)) {}

  std::vector<ApiPath> take() {
    for (const ResourceFacts& facts : kinds_.resources())
      if (facts.served && facts.group == group_ && facts.version == version_) add(facts);
    std::sort(paths_.begin(), paths_.end(), [](const ApiPath& a, const ApiPath& b) { return a.path < b.path; });
    return std::move(paths_);
  }

 private:
  void add(const ResourceFacts& facts) {
    const std::size_t first = paths_.size();
    add_paths(facts);
    for (std::size_t i = first; i < paths_.size(); ++i)
      for (ApiOperation& operation : paths_[i].operations) operation.custom = facts.custom;
  }

  void add_paths(const ResourceFacts& facts) {
    std::string resource(facts.resource);
    std::string collection = root_ + (facts.namespaced ? "/namespaces/{namespace}/" : "/") + resource;
    std::vector<std::string_view> scope;
    if (facts.namespaced) scope.push_back("namespace");
    add_verbs(facts, collection, scope, true);
    if (facts.namespaced && facts.verbs.contains("list")) add_all_namespaces(facts);
    scope.insert(scope.begin(), "name");
    std::string item = collection + "/{name}";
    add_verbs(facts, item, scope, false);
    for (const SubresourceFacts& subresource : facts.subresources) add_subresource(facts, subresource, item, scope);
  }

  std::string scoped_name(const ResourceFacts& facts) const {
    return (facts.namespaced ? "Namespaced" : "") + std::string(facts.kind);
  }

  void add_verbs(const ResourceFacts& facts, const std::string& path, std::vector<std::string_view> parameters,
                 bool collection) {
    ApiPath made{path, std::move(parameters), {}};
    for (const ApiVerb& verb : kApiVerbs) {
      if (verb.on_collection != collection || !facts.verbs.contains(verb.verb)) continue;
      bool whole = verb.verb == "deletecollection";  // upstream writes deleteAppsV1CollectionNamespacedDeployment
      std::string id = (whole ? "delete" : std::string(verb.id_word)) + id_ + (whole ? "Collection" : "");
      made.operations.push_back(operation(verb, id + scoped_name(facts), facts.group, facts.version, facts.kind));
      if (verb.verb == "delete" && facts.delete_returns_object) made.operations.back().answer = facts.type;
      if (verb.answer == AnswerBody::list)
        made.operations.back().answer = kinds_.find_kind(facts.group, facts.version, facts.list_kind);
    }
    if (!made.operations.empty()) paths_.push_back(std::move(made));
  }

  void add_all_namespaces(const ResourceFacts& facts) {
    ApiPath made{root_ + "/" + std::string(facts.resource), {}, {}};
    std::string id = "list" + id_ + std::string(facts.kind) + "ForAllNamespaces";
    made.operations.push_back(operation(kApiVerbs[0], id, facts.group, facts.version, facts.kind));
    made.operations.back().answer = kinds_.find_kind(facts.group, facts.version, facts.list_kind);
    paths_.push_back(std::move(made));
  }

  ApiOperation operation(const ApiVerb& verb, std::string id, std::string_view group, std::string_view version,
                         std::string_view kind) const {
    Type type = kinds_.find_kind(group, version, kind);
    ApiOperation made{verb.method,     verb.action, std::move(id), group,     version, kind,
                      verb.parameters, {},          type,          verb.codes};
    if (verb.body == Body::kind) made.body = type;
    if (verb.body == Body::delete_options) made.body = kinds_.find_kind("", "v1", "DeleteOptions");
    if (verb.answer == AnswerBody::status) made.answer = kinds_.find_kind("", "v1", "Status");
    return made;
  }

  void add_subresource(const ResourceFacts& facts, const SubresourceFacts& subresource, const std::string& item,
                       const std::vector<std::string_view>& scope) {
    std::string name = scoped_name(facts) + capitalized(subresource.name);
    std::string path = item + "/" + std::string(subresource.name);
    if (std::find(std::begin(kConnecting), std::end(kConnecting), subresource.name) != std::end(kConnecting))
      return add_connecting(subresource, name, path, scope);
    ApiPath made{path, scope, {}};
    for (const ApiVerb& verb : kApiVerbs) {
      if (!subresource.verbs.contains(verb.verb)) continue;
      made.operations.push_back(operation(verb, std::string(verb.id_word) + id_ + name, subresource.group,
                                          subresource.version, subresource.kind));
      if (subresource.name == "log") made.operations.back().answer = {};
    }
    paths_.push_back(std::move(made));
  }

  void add_connecting(const SubresourceFacts& subresource, const std::string& name, const std::string& path,
                      std::vector<std::string_view> scope) {
    bool proxy = subresource.name == "proxy";
    paths_.push_back(connecting(subresource, name, path, scope));
    if (!proxy) return;
    scope.push_back("path");
    paths_.push_back(connecting(subresource, name + "WithPath", path + "/{path}", scope));
  }

  ApiPath connecting(const SubresourceFacts& subresource, const std::string& name, const std::string& path,
                     const std::vector<std::string_view>& scope) const {
    ApiPath made{path, scope, {}};
    std::span<const std::string_view> methods = kStreamMethods;
    if (subresource.name == "proxy") methods = kProxyMethods;
    for (std::string_view method : methods) {
      ApiOperation one;
      one.method = method;
      one.action = "connect";
      one.id = "connect" + id_ + capitalized(method) + name;
      one.group = subresource.group;
      one.version = subresource.version;
      one.kind = subresource.kind;
      one.codes = kOk;
      made.operations.push_back(std::move(one));
    }
    return made;
  }

  const Registry& kinds_;
  std::string_view group_, version_;
  std::string root_, id_;
  std::vector<ApiPath> paths_;
};

constexpr std::string_view kMediaTypes[] = {"application/json", "application/yaml",
                                            "application/vnd.kubernetes.protobuf"};
constexpr std::string_view kPatchMediaTypes[] = {"application/apply-patch+yaml", "application/json-patch+json",
                                                 "application/merge-patch+json",
                                                 "application/strategic-merge-patch+json"};
// Of kinds made at run time.
constexpr std::string_view kCustomMediaTypes[] = {"application/json", "application/yaml"};
constexpr std::string_view kCustomPatchTypes[] = {"application/apply-patch+yaml", "application/json-patch+json",
                                                  "application/merge-patch+json"};

}  // namespace

std::vector<ApiPath> api_paths(const Registry& kinds, std::string_view group, std::string_view version) {
  return Surface(kinds, group, version).take();
}

std::string api_root(std::string_view group, std::string_view version) {
  if (group.empty()) return "/api/" + std::string(version);
  return "/apis/" + std::string(group) + "/" + std::string(version);
}

std::string api_tag(std::string_view group, std::string_view version) {
  std::string made = id_prefix(group, "");
  made[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(made[0])));
  return made + "_" + std::string(version);
}

std::string_view code_description(std::string_view code) {
  if (code == "200") return "OK";
  return code == "201" ? "Created" : "Accepted";
}

std::string_view path_parameter_description(std::string_view name) {
  if (name == "name") return "name of the object";
  if (name == "namespace") return "namespace of the object";
  return "the rest of the path, handed on as it is";
}

std::span<const std::string_view> api_media_types(bool custom) {
  if (custom) return kCustomMediaTypes;
  return kMediaTypes;
}

std::span<const std::string_view> api_patch_types(bool custom) {
  if (custom) return kCustomPatchTypes;
  return kPatchMediaTypes;
}

}  // namespace sublet::apiserver
