#include "apiserver/apply/kind_versions.h"

#include <unordered_map>

#include "apiserver/conversion/conversion.h"
#include "apiserver/request/object_key.h"
#include "sublet/base/mutex.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using patches::TypedObject;
using schema::Document;
using schema::Value;

/// Go's zero values of the kinds: `spec: {}`, `containers: null`. A part of the Registry.
class EmptyObjects {
 public:
  explicit EmptyObjects(const schema::Registry&) {}

  std::shared_ptr<const Document> of(schema::Type type) {
    const MutexLock lock(mutex_);
    auto& known = made_[type.name()];
    if (known) return known;
    auto document = std::make_shared<Document>(Document::object());
    (void)schema::conform(document->root(), type);  // nothing to refuse
    return known = std::move(document);
  }

 private:
  Mutex mutex_;
  std::unordered_map<std::string_view, std::shared_ptr<const Document>> made_ SUBLET_GUARDED_BY(mutex_);
};

const patches::FieldSet& reset_of(const ManagedEndpoint& endpoint) {
  static const patches::FieldSet nothing;
  if (!endpoint.facts) return nothing;
  const auto* fields = endpoint.kinds.entry<ResetFields>(endpoint.kinds.storage_of(*endpoint.facts));
  return fields ? fields->of(endpoint.subresource) : nothing;
}

}  // namespace

KindVersions::KindVersions(const ManagedEndpoint& endpoint)
    : endpoint_(endpoint), version_(api_version(endpoint.group, endpoint.version)), reset_(reset_of(endpoint)) {}

TypedObject KindVersions::own(const Value& object) const {
  const auto& type = endpoint_.facts ? patches::merge_type_of(endpoint_.kinds, *endpoint_.facts)
                                     : endpoint_.kinds.part<patches::MergeTypes>().of(endpoint_.type);
  return {object, &type, version_, nullptr};
}

TypedObject KindVersions::empty() const {
  auto document = endpoint_.kinds.part<EmptyObjects>().of(endpoint_.type);
  TypedObject object = own(document->root());
  object.holder = std::move(document);
  return object;
}

const schema::ResourceFacts* KindVersions::facts_of(const std::string& version) const {
  if (!endpoint_.facts) return nullptr;
  const auto slash = version.find('/');
  const auto group = slash == std::string::npos ? std::string() : version.substr(0, slash);
  const auto* facts = endpoint_.kinds.find_resource(
      group, slash == std::string::npos ? version : version.substr(slash + 1), endpoint_.facts->resource);
  const bool same = facts && &endpoint_.kinds.storage_of(*facts) == &endpoint_.kinds.storage_of(*endpoint_.facts);
  return same ? facts : nullptr;
}

Result<TypedObject> KindVersions::convert(const TypedObject& object, const std::string& version) const {
  if (object.version == version) return object;
  const auto* from = facts_of(object.version);
  const auto* to = facts_of(version);
  if (!from || !to) return fail(Reason::not_found, "no version " + version + " of " + std::string(endpoint_.kind));
  TypedObject converted = object;
  converted.version = version;
  converted.type = &patches::merge_type_of(endpoint_.kinds, *to);
  const auto* leave = endpoint_.kinds.entry<Conversion>(*from);
  const auto* enter = endpoint_.kinds.entry<Conversion>(*to);
  if (!leave && !enter) return converted;  // the versions have one shape
  auto document = std::make_shared<Document>(Document::copy_of(object.value));
  if (enter && enter->outside && !document->root()["metadata"]["name"].text().empty()) {  // nothing is in all versions
    document->root().put("kind", endpoint_.kind);
    document->root().put("apiVersion", object.version);
    if (auto asked = enter->outside->convert(document->root()); !asked) return fail(asked.error());
  }
  if (leave) leave->to_storage(document->root());
  if (enter && !to->custom)
    enter->from_storage(document->root());  // that of a custom kind sets defaults, which have no manager
  if (auto fits = schema::conform(document->root(), to->type); !fits) return fail(fits.error());
  converted.value = document->root();
  converted.holder = std::move(document);
  return converted;
}

void KindVersions::filter(patches::FieldSet& fields, const std::string&) const {
  if (!reset_.empty()) fields.subtract_trees(reset_);
}

}  // namespace sublet::apiserver
