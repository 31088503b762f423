#include "controllers/pods/history.h"

#include <algorithm>

#include "controllers/pods/template_hash.h"
#include "controllers/runtime/calls.h"

namespace sublet::controllers {

using schema::Document;
using schema::Value;

const kube::Resource kRevisionResource{"apps", "v1", "controllerrevisions"};

namespace {

constexpr std::size_t kPrefixMax = 223;  // of a revision's name

void sort_all(Value value) {
  if (value.is_object()) value.sort_keys();
  for (auto child : value) sort_all(child);
}

}  // namespace

Document revision_data(const Value& pod_template) {
  auto data = Document::object();
  data.root().object("spec").put("template", pod_template).put("$patch", "replace");
  sort_all(data.root());
  return data;
}

Document template_of_revision(const Value& revision) {
  auto pod_template = Document::copy_of(revision["data"]["spec"]["template"]);
  if (pod_template.root().is_object()) pod_template.root().erase("$patch");
  return pod_template;
}

Document new_revision(const Value& set, const ObjectRef& owner, const std::string& name, std::int64_t number) {
  auto revision = Document::object();
  auto metadata = revision.root().object("metadata");
  metadata.put("name", name);
  metadata.put("namespace", owner.namespace_name);
  if (auto labels = set["spec"]["template"]["metadata"]["labels"]) metadata.put("labels", labels);
  if (auto annotations = set["metadata"]["annotations"]; !annotations.empty()) metadata.put("annotations", annotations);
  put_controller_ref(metadata, owner);
  revision.root().put("data", revision_data(set["spec"]["template"]).root());
  revision.root().put("revision", number);
  return revision;
}

std::string revision_hash(const Value& data, std::int64_t collisions) {
  std::uint32_t hash = 2166136261u;
  for (const unsigned char byte : data.to_json() + std::to_string(collisions)) hash = (hash * 16777619u) ^ byte;
  return safe_encoded(hash);
}

std::string revision_name(std::string_view owner, std::string_view hash) {
  return std::string(owner.substr(0, kPrefixMax)).append("-").append(hash);
}

std::int64_t number_of(const Value& revision) { return revision["revision"].integer(); }

void sort_revisions(std::vector<Document>& revisions) {
  std::stable_sort(revisions.begin(), revisions.end(), [](const Document& a, const Document& b) {
    if (number_of(a.root()) != number_of(b.root())) return number_of(a.root()) < number_of(b.root());
    const auto first = a["metadata"]["creationTimestamp"].text(), second = b["metadata"]["creationTimestamp"].text();
    return first != second ? first < second : a["metadata"]["name"].text() < b["metadata"]["name"].text();
  });
}

Result<std::vector<Document>> claimed_revisions(const kube::Client& client, const Lister& lister,
                                                const Claimant& claimant) {
  const auto claimed = claim(client, kRevisionResource, claimant, claim_candidates(lister, claimant.owner));
  if (claimed.error) return fail(*claimed.error);
  std::vector<Document> revisions;
  for (const auto& object : claimed.objects)
    if (const auto fresh = lister.get(namespace_of(*object), name_of(*object)))
      revisions.push_back(document_of(*fresh));
  sort_revisions(revisions);
  return revisions;
}

Result<Document> renumber(const kube::Client& client, const Value& revision, std::int64_t number) {
  auto changed = Document::copy_of(revision);
  changed.root().put("revision", number);
  return client.update(kRevisionResource, revision["metadata"]["namespace"].text(), revision["metadata"]["name"].text(),
                       changed.root());
}

Outcome truncate_history(const kube::Client& client, const std::vector<Document>& revisions,
                         const std::function<bool(const Value& revision)>& live, std::int64_t limit) {
  std::vector<Value> idle;
  for (const auto& revision : revisions)
    if (!live(revision.root())) idle.push_back(revision.root());
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(idle.size()) - limit; ++i) {
    const auto metadata = idle[static_cast<std::size_t>(i)]["metadata"];
    if (auto removed = settled(client.remove(kRevisionResource, metadata["namespace"].text(), metadata["name"].text()));
        !removed)
      return removed;
  }
  return {};
}

}  // namespace sublet::controllers
