#include "controllers/endpoints/slice_writer.h"

#include <algorithm>

#include "controllers/runtime/kinds.h"

namespace sublet::controllers {
namespace {

using schema::Document;

std::string_view label_of(const store::Object& object, std::string_view wanted) {
  for (const auto& [label, value] : object.index.labels)
    if (label == wanted) return value;
  return {};
}

}  // namespace

std::vector<Document> slices_of_service(const Lister& slices, std::string_view namespace_name, std::string_view service,
                                        std::string_view manager) {
  auto labels = Document::object();
  labels.root().put(kServiceNameLabel, service);
  labels.root().put(kSliceManagedByLabel, manager);
  std::vector<Document> found;
  auto selected = slices.selected(namespace_name, kube::LabelSelector::from_map(labels.root()));
  std::sort(selected.begin(), selected.end(), [](const auto& a, const auto& b) { return a->key < b->key; });
  for (const auto& slice : selected)
    if (!is_ending(*slice)) found.push_back(document_of(*slice));
  return found;
}

void enqueue_service_of_slice(const Context& context, const store::Object& slice, std::string_view manager) {
  const auto service = label_of(slice, kServiceNameLabel);
  if (service.empty() || label_of(slice, kSliceManagedByLabel) != manager) return;
  context.enqueue(std::string(namespace_of(slice)).append("/").append(service));
}

Outcome write_slices(const kube::Client& client, const std::string& namespace_name, const SlicePlan& plan) {
  for (const auto& slice : plan.creates)
    if (auto outcome = ensure_created(client, kEndpointSlices, namespace_name, slice.root()); !outcome) return outcome;
  for (const auto& slice : plan.updates)
    if (auto updated = client.update(kEndpointSlices, namespace_name, slice["metadata"]["name"].text(), slice.root());
        !updated)
      return fail(updated.error());
  for (const auto& name : plan.removals)
    if (auto removed = client.remove(kEndpointSlices, namespace_name, name);
        !removed && !removed.error().is(Reason::not_found))
      return fail(removed.error());
  return {};
}

}  // namespace sublet::controllers
