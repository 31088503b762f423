// Client: the Kubernetes API as C++ calls over (group, version, resource) and documents.
//
// A thin, thread-safe layer over a net::Transport (in-process, unix socket, TLS; the CLI's is cpprest). Calls block
// their thread; watches run on the transport's thread. A Kubernetes Status answer becomes a sublet::Status with the
// server's reason; transport failures are service_unavailable or timeout.
// Namespace "" means cluster scope, or all namespaces for list and watch.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sublet/base/status.h"
#include "sublet/net/http.h"
#include "sublet/schema/document.h"

namespace sublet::kube {

struct Resource {
  std::string group;  // "" is the core group
  std::string version;
  std::string resource;  // plural
  bool operator==(const Resource&) const = default;
  auto operator<=>(const Resource&) const = default;
  /// "/api/v1/namespaces/ns/pods/name/status"; empty parts are left out. Parts are percent-encoded.
  std::string path(std::string_view namespace_name, std::string_view name = {},
                   std::string_view subresource = {}) const;
};

struct ListOptions {
  std::string label_selector{}, field_selector{};  // `{}` on each: callers name only what they set
  std::string resource_version{};                  // "": latest
  std::string resource_version_match{};            // "", "Exact", "NotOlderThan"
  int limit = 0;
  std::string continue_token{};
  bool metadata_only = false;  // items have kind and metadata alone (PartialObjectMetadataList)
};

struct DeleteOptions {
  std::optional<int> grace_period_seconds{};
  std::string uid{};               // precondition; empty: none
  std::string resource_version{};  // precondition
  std::string propagation_policy{};
};

enum class PatchType { json, merge, strategic_merge };

/// Of a server-side apply: whose configuration it is, and whether it takes what others own.
struct ApplyOptions {
  std::string field_manager;
  bool force = false;
};

struct WatchOptions {
  std::string label_selector{}, field_selector{};
  std::string resource_version{};  // resume point; "": synthetic ADDED for the current state first
  bool bookmarks = true;
  std::chrono::seconds timeout{0};  // 0: the server's choice
};

enum class WatchEventType { added, modified, deleted, bookmark, error };

/// Receives a watch. Called on the transport's thread, in order; must not block.
class WatchObserver {
 public:
  virtual ~WatchObserver() = default;
  /// `object` is the JSON text of the event's object (a Status for `error`).
  virtual void on_event(WatchEventType type, std::string_view object) = 0;
  /// The stream is over: ended by the server (ok), or failed. Last call.
  virtual void on_end(Outcome outcome) = 0;
};

struct ClientOptions {
  std::string user_agent = "sublet";
  std::string bearer_token{};  // sent on every request when not empty
  std::chrono::milliseconds timeout{30'000};
};

class Client {
 public:
  explicit Client(std::shared_ptr<net::Transport> transport, ClientOptions options = {});

  Result<schema::Document> get(const Resource& resource, std::string_view namespace_name, std::string_view name,
                               std::string_view subresource = {}) const;
  Result<schema::Document> list(const Resource& resource, std::string_view namespace_name,
                                const ListOptions& options = {}) const;
  /// `name` and `subresource` for pods/binding, pods/eviction, serviceaccounts/token.
  Result<schema::Document> create(const Resource& resource, std::string_view namespace_name,
                                  const schema::Value& object, std::string_view name = {},
                                  std::string_view subresource = {}) const;
  Result<schema::Document> update(const Resource& resource, std::string_view namespace_name, std::string_view name,
                                  const schema::Value& object, std::string_view subresource = {}) const;
  Result<schema::Document> patch(const Resource& resource, std::string_view namespace_name, std::string_view name,
                                 PatchType type, std::string_view patch, std::string_view subresource = {}) const;
  /// Server-side apply; makes what is not there. `config` has apiVersion and kind. conflict: others own some of it.
  Result<schema::Document> apply(const Resource& resource, std::string_view namespace_name, std::string_view name,
                                 const schema::Value& config, const ApplyOptions& options,
                                 std::string_view subresource = {}) const;
  Result<schema::Document> remove(const Resource& resource, std::string_view namespace_name, std::string_view name,
                                  const DeleteOptions& options = {}) const;
  /// Sends one of the requests below for what it does: of the answer only an error is read.
  Outcome send(net::Request request) const;
  /// Any request; the answer as it came. For discovery, /version, logs.
  Result<net::Response> raw(std::string method, std::string target, std::string body = {},
                            std::string content_type = {}) const;
  std::unique_ptr<net::Exchange> watch(const Resource& resource, std::string_view namespace_name,
                                       const WatchOptions& options, std::shared_ptr<WatchObserver> observer) const;
  net::Transport& transport() const { return *transport_; }
  const ClientOptions& options() const { return options_; }

  // The requests that the calls above would send, with this client's credentials: for callers that must not block
  // (Informer, Pipeline).
  net::Request list_request(const Resource& resource, std::string_view namespace_name,
                            const ListOptions& options = {}) const;
  net::Request create_request(const Resource& resource, std::string_view namespace_name, const schema::Value& object,
                              std::string_view name = {}, std::string_view subresource = {}) const;
  net::Request update_request(const Resource& resource, std::string_view namespace_name, std::string_view name,
                              const schema::Value& object, std::string_view subresource = {}) const;
  net::Request patch_request(const Resource& resource, std::string_view namespace_name, std::string_view name,
                             PatchType type, std::string_view patch, std::string_view subresource = {}) const;
  net::Request apply_request(const Resource& resource, std::string_view namespace_name, std::string_view name,
                             const schema::Value& config, const ApplyOptions& options,
                             std::string_view subresource = {}) const;
  net::Request remove_request(const Resource& resource, std::string_view namespace_name, std::string_view name,
                              const DeleteOptions& options = {}) const;

 private:
  net::Request request(std::string method, std::string target) const;
  Result<schema::Document> call(net::Request request) const;

  std::shared_ptr<net::Transport> transport_;
  ClientOptions options_;
};

/// The same request, answered with the object's metadata alone where the server can do so.
net::Request answered_by_metadata(net::Request request);

/// A Kubernetes Status document as Status: the reverse of status_json().
Status status_from_document(const schema::Value& status, int http_code);

}  // namespace sublet::kube
