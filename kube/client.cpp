#include "sublet/kube/client.h"

#include "kube/answer.h"
#include "kube/watch_reader.h"

namespace sublet::kube {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kJsonMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
constexpr std::string_view kJsonMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

std::string_view content_type_of(PatchType type) {
  switch (type) {
    case PatchType::json:
      return "application/json-patch+json";
    case PatchType::merge:
      return "application/merge-patch+json";
    case PatchType::strategic_merge:
      return "application/strategic-merge-patch+json";
  }
  return kJson;
}

/// Builds "?a=b&c=d" from the parameters that are set.
class Query {
 public:
  void add(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    text_ += text_.empty() ? '?' : '&';
    text_.append(key).append("=").append(net::percent_encode(value));
  }
  void add(std::string_view key, std::int64_t value) {
    if (value != 0) add(key, std::to_string(value));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string delete_body(const DeleteOptions& options) {
  schema::Document out = schema::Document::object();
  schema::Value root = out.root();
  root.put("kind", "DeleteOptions");
  root.put("apiVersion", "v1");
  if (options.grace_period_seconds) root.put("gracePeriodSeconds", *options.grace_period_seconds);
  if (!options.uid.empty()) root.object("preconditions").put("uid", options.uid);
  if (!options.resource_version.empty()) root.object("preconditions").put("resourceVersion", options.resource_version);
  if (!options.propagation_policy.empty()) root.put("propagationPolicy", options.propagation_policy);
  return out.to_json();
}

}  // namespace

std::string Resource::path(std::string_view namespace_name, std::string_view name, std::string_view subresource) const {
  std::string out = group.empty() ? "/api" : "/apis/" + net::percent_encode(group);
  out += "/" + net::percent_encode(version);
  if (!namespace_name.empty()) out += "/namespaces/" + net::percent_encode(namespace_name);
  out += "/" + net::percent_encode(resource);
  if (!name.empty()) out += "/" + net::percent_encode(name);
  if (!subresource.empty()) out += "/" + net::percent_encode(subresource);
  return out;
}

Client::Client(std::shared_ptr<net::Transport> transport, ClientOptions options)
    : transport_(std::move(transport)), options_(std::move(options)) {}

net::Request Client::request(std::string method, std::string target) const {
  net::Request out;
  out.method = std::move(method);
  out.target = std::move(target);
  out.headers.add("Accept", std::string(kJson));
  out.headers.add("User-Agent", options_.user_agent);
  if (!options_.bearer_token.empty()) out.headers.add("Authorization", "Bearer " + options_.bearer_token);
  return out;
}

Result<schema::Document> Client::call(net::Request request) const {
  const auto answer = net::fetch(*transport_, std::move(request), options_.timeout);
  if (!answer) return fail(answer.error());
  if (!is_success(answer->code)) return fail(status_from_answer(answer->code, answer->headers, answer->body));
  auto document = schema::Document::parse_json(answer->body);
  if (!document) return internal_error("the server's answer is no JSON: " + document.error().message);
  return document;
}

Outcome Client::send(net::Request request) const {
  const auto answer = net::fetch(*transport_, std::move(request), options_.timeout);
  if (!answer) return fail(answer.error());
  if (!is_success(answer->code)) return fail(status_from_answer(answer->code, answer->headers, answer->body));
  return {};
}

net::Request answered_by_metadata(net::Request request) {
  request.headers.set("Accept", std::string(kJsonMetadata).append(", ").append(kJson));
  return request;
}

Result<schema::Document> Client::get(const Resource& resource, std::string_view namespace_name, std::string_view name,
                                     std::string_view subresource) const {
  return call(request("GET", resource.path(namespace_name, name, subresource)));
}

net::Request Client::list_request(const Resource& resource, std::string_view namespace_name,
                                  const ListOptions& options) const {
  Query query;
  query.add("labelSelector", options.label_selector);
  query.add("fieldSelector", options.field_selector);
  query.add("resourceVersion", options.resource_version);
  query.add("resourceVersionMatch", options.resource_version_match);
  query.add("limit", options.limit);
  query.add("continue", options.continue_token);
  net::Request out = request("GET", resource.path(namespace_name) + query.text());
  if (options.metadata_only) out.headers.set("Accept", std::string(kJsonMetadataList));
  return out;
}

Result<schema::Document> Client::list(const Resource& resource, std::string_view namespace_name,
                                      const ListOptions& options) const {
  return call(list_request(resource, namespace_name, options));
}

net::Request Client::create_request(const Resource& resource, std::string_view namespace_name,
                                    const schema::Value& object, std::string_view name,
                                    std::string_view subresource) const {
  net::Request out = request("POST", resource.path(namespace_name, name, subresource));
  out.headers.add("Content-Type", std::string(kJson));
  out.body = object.to_json();
  return out;
}

Result<schema::Document> Client::create(const Resource& resource, std::string_view namespace_name,
                                        const schema::Value& object, std::string_view name,
                                        std::string_view subresource) const {
  return call(create_request(resource, namespace_name, object, name, subresource));
}

net::Request Client::update_request(const Resource& resource, std::string_view namespace_name, std::string_view name,
                                    const schema::Value& object, std::string_view subresource) const {
  net::Request out = request("PUT", resource.path(namespace_name, name, subresource));
  out.headers.add("Content-Type", std::string(kJson));
  out.body = object.to_json();
  return out;
}

Result<schema::Document> Client::update(const Resource& resource, std::string_view namespace_name,
                                        std::string_view name, const schema::Value& object,
                                        std::string_view subresource) const {
  return call(update_request(resource, namespace_name, name, object, subresource));
}

net::Request Client::patch_request(const Resource& resource, std::string_view namespace_name, std::string_view name,
                                   PatchType type, std::string_view patch, std::string_view subresource) const {
  net::Request out = request("PATCH", resource.path(namespace_name, name, subresource));
  out.headers.add("Content-Type", std::string(content_type_of(type)));
  out.body = patch;
  return out;
}

Result<schema::Document> Client::patch(const Resource& resource, std::string_view namespace_name, std::string_view name,
                                       PatchType type, std::string_view patch, std::string_view subresource) const {
  return call(patch_request(resource, namespace_name, name, type, patch, subresource));
}

net::Request Client::apply_request(const Resource& resource, std::string_view namespace_name, std::string_view name,
                                   const schema::Value& config, const ApplyOptions& options,
                                   std::string_view subresource) const {
  Query query;
  query.add("fieldManager", options.field_manager);
  if (options.force) query.add("force", "true");
  net::Request out = request("PATCH", resource.path(namespace_name, name, subresource) + query.text());
  out.headers.add("Content-Type", "application/apply-patch+yaml");  // of which JSON is a part
  out.body = config.to_json();
  return out;
}

Result<schema::Document> Client::apply(const Resource& resource, std::string_view namespace_name, std::string_view name,
                                       const schema::Value& config, const ApplyOptions& options,
                                       std::string_view subresource) const {
  return call(apply_request(resource, namespace_name, name, config, options, subresource));
}

net::Request Client::remove_request(const Resource& resource, std::string_view namespace_name, std::string_view name,
                                    const DeleteOptions& options) const {
  net::Request out = request("DELETE", resource.path(namespace_name, name));
  out.headers.add("Content-Type", std::string(kJson));
  out.body = delete_body(options);
  return out;
}

Result<schema::Document> Client::remove(const Resource& resource, std::string_view namespace_name,
                                        std::string_view name, const DeleteOptions& options) const {
  return call(remove_request(resource, namespace_name, name, options));
}

Result<net::Response> Client::raw(std::string method, std::string target, std::string body,
                                  std::string content_type) const {
  net::Request out = request(std::move(method), std::move(target));
  out.headers.set("Accept", "*/*");
  if (!content_type.empty()) out.headers.add("Content-Type", std::move(content_type));
  out.body = std::move(body);
  return net::fetch(*transport_, std::move(out), options_.timeout);
}

std::unique_ptr<net::Exchange> Client::watch(const Resource& resource, std::string_view namespace_name,
                                             const WatchOptions& options,
                                             std::shared_ptr<WatchObserver> observer) const {
  Query query;
  query.add("watch", "true");
  query.add("labelSelector", options.label_selector);
  query.add("fieldSelector", options.field_selector);
  query.add("resourceVersion", options.resource_version);
  if (options.bookmarks) query.add("allowWatchBookmarks", "true");
  query.add("timeoutSeconds", options.timeout.count());
  return transport_->start(request("GET", resource.path(namespace_name) + query.text()),
                           std::make_shared<WatchReader>(std::move(observer)), std::chrono::milliseconds(0));
}

}  // namespace sublet::kube
