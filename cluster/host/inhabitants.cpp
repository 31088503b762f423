#include "cluster/host/inhabitants.h"

#include <algorithm>

#include "sublet/base/mutex.h"
#include "sublet/kube/pipeline.h"

namespace sublet::cluster {
namespace {

using schema::Document;
using schema::Value;

constexpr std::size_t kListsInFlight = 16;
constexpr int kShownOfKind = 3;
constexpr std::size_t kShown = 8;

/// The objects that the host makes in every namespace. A name "" means all.
struct ByItself {
  std::string_view resource, name;
};
constexpr ByItself kByItself[] = {{"configmaps", "kube-root-ca.crt"},
                                  {"serviceaccounts", "default"},
                                  {"events", ""},
                                  {"endpointslices", ""},
                                  {"endpoints", ""}};

bool comes_by_itself(std::string_view resource, std::string_view name) {
  return std::ranges::any_of(kByItself, [&](const ByItself& row) {
    return row.resource == resource && (row.name.empty() || row.name == name);
  });
}

bool is_kept_in_namespaces(const Value& resource) {
  bool lists = false, deletes = false;  // what cannot be deleted is a view, as metrics are
  for (const Value verb : resource["verbs"]) {
    lists = lists || verb.text() == "list";
    deletes = deletes || verb.text() == "delete";
  }
  return resource["namespaced"].boolean() && lists && deletes &&
         resource["name"].text().find('/') == std::string_view::npos;
}

/// Asks the host many things at once.
class Look {
 public:
  explicit Look(const Host& host) : host_(host), pipeline_(loop_.loop(), host.client, kListsInFlight) {}

  /// Which groups and versions there are.
  std::vector<std::string> group_versions() {
    std::vector<std::string> all{"v1"};
    const auto answer = host_.client.raw("GET", "/apis");
    const auto list = answer && answer->code == 200 ? Document::parse_json(answer->body) : Result<Document>(Document());
    if (!answer || answer->code != 200 || !list) {
      inhabitants.unknown.push_back("the host's API groups");
      return all;
    }
    for (const Value group : (*list)["groups"]) all.push_back(group["preferredVersion"]["groupVersion"].string());
    return all;
  }

  void kinds_of(const std::string& group_version) {
    net::Request request;
    request.method = "GET";
    request.target = (group_version == "v1" ? "/api/" : "/apis/") + group_version;
    ask(std::move(request), group_version, [this, group_version](const Value& list) {
      const auto slash = group_version.find('/');
      const bool core = slash == std::string::npos;
      for (const Value resource : list["resources"])
        if (is_kept_in_namespaces(resource))
          kinds.push_back({core ? "" : group_version.substr(0, slash),
                           core ? group_version : group_version.substr(slash + 1), resource["name"].string()});
    });
  }

  void objects_of(const kube::Resource& kind, const std::string& host_namespace) {
    const std::string shown = kind.resource + (kind.group.empty() ? "" : "." + kind.group);
    ask(host_.client.list_request(kind, host_namespace, {.limit = 50, .metadata_only = true}), shown,
        [this, kind, shown](const Value& list) {
          int count = 0;
          for (const Value item : list["items"]) {
            const Value name = item["metadata"]["name"];
            if (comes_by_itself(kind.resource, name.text()) || ++count > kShownOfKind) continue;
            inhabitants.found.push_back(shown + " " + name.string());
          }
        });
  }

  void wait() {
    MutexLock lock(mutex_);
    while (!came_.wait_for(lock, std::chrono::seconds(1), [this]() SUBLET_REQUIRES(mutex_) { return waiting_ == 0; })) {
    }
  }

  // While nothing is asked.
  std::vector<kube::Resource> kinds;
  Inhabitants inhabitants;

 private:
  void ask(net::Request request, const std::string& what, std::function<void(const Value&)> on_answer) {
    {
      const MutexLock lock(mutex_);
      ++waiting_;
    }
    pipeline_.send(
        std::move(request), [this, what, on_answer = std::move(on_answer)](const Result<std::string>& answer) {
          const MutexLock lock(mutex_);
          if (answer) {
            if (const auto document = Document::parse_json(*answer)) on_answer(document->root());
          } else if (!answer.error().is(Reason::not_found) && !answer.error().is(Reason::method_not_allowed)) {
            inhabitants.unknown.push_back(what + " (" + answer.error().message + ")");
          }
          --waiting_;
          came_.notify_one();
        });
  }

  const Host& host_;
  Mutex mutex_;
  CondVar came_;
  std::size_t waiting_ SUBLET_GUARDED_BY(mutex_) = 0;
  net::LoopThread loop_{"inhabitants"};
  kube::Pipeline pipeline_;  // last: its callbacks use all of the above
};

}  // namespace

std::string Inhabitants::text() const {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  for (std::size_t i = 0; i < std::min(found.size(), kShown); ++i) add(found[i]);
  if (found.size() > kShown) text += " and " + std::to_string(found.size() - kShown) + " more";
  for (const auto& what : unknown) add("perhaps " + what + ", which could not be looked at");
  return text;
}

Inhabitants inhabitants_of(const Host& host, const std::string& host_namespace) {
  Look look(host);
  for (const auto& group_version : look.group_versions()) look.kinds_of(group_version);
  look.wait();
  for (const auto& kind : look.kinds) look.objects_of(kind, host_namespace);
  look.wait();
  std::ranges::sort(look.inhabitants.found);
  return std::move(look.inhabitants);
}

}  // namespace sublet::cluster
