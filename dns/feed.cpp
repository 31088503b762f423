#include "dns/feed.h"

#include <algorithm>

namespace sublet::dns {

using kube::CachedPtr;

Feed::Feed(net::Loop& loop, kube::Client tenant, Zone& zone) : tenant_(std::move(tenant)) {
  const auto copy_of = [&](kube::Resource resource, kube::InformerHandler handler) {
    kube::InformerOptions options;
    options.resource = std::move(resource);
    copies_.push_back(std::make_unique<kube::Informer>(loop, tenant_, std::move(options)));
    copies_.back()->add_handler(std::move(handler));
  };
  copy_of({"", "v1", "namespaces"}, [&zone](const CachedPtr& before, const CachedPtr& after) {
    after ? zone.put_namespace(after->name) : zone.remove_namespace(before->name);
  });
  copy_of({"", "v1", "services"}, [&zone](const CachedPtr& before, const CachedPtr& after) {
    if (!after) return zone.remove_service(before->namespace_name, before->name);
    zone.put_service(after->document().root());
  });
  copy_of({"discovery.k8s.io", "v1", "endpointslices"}, [&zone](const CachedPtr& before, const CachedPtr& after) {
    if (!after) return zone.remove_slice(before->namespace_name, before->name);
    zone.put_slice(after->document().root());
  });
}

Feed::~Feed() {
  for (const auto& copy : copies_) copy->stop();
}

void Feed::start() {
  for (const auto& copy : copies_) copy->start();
}

bool Feed::ready() const {
  return std::ranges::all_of(copies_, [](const auto& copy) { return copy->synced(); });
}

bool Feed::wait_ready(std::chrono::milliseconds timeout) const {
  return std::ranges::all_of(copies_, [&](const auto& copy) { return copy->wait_synced(timeout); });
}

}  // namespace sublet::dns
