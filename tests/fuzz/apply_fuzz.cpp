// Server-side apply of anything to a pod or a deployment that has any managedFields: FieldsV1 is read back as it was
// written, the object stays sound, and applying once more changes nothing.
#include "patch_input.h"
#include "sublet/patches/managers.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"

namespace {

using namespace sublet;

class OneVersion final : public patches::Versions {
 public:
  Result<patches::TypedObject> convert(const patches::TypedObject& object, const std::string& version) const override {
    if (version == object.version) return object;
    return fail(Reason::not_found, "no such version");
  }
  void filter(patches::FieldSet&, const std::string&) const override {}
};

patches::ManagedSets owners_in(const schema::Value& object) {
  patches::ManagedSets sets;
  for (const schema::Value entry : object["metadata"]["managedFields"]) {
    auto fields = patches::FieldSet::from_fields_v1(entry["fieldsV1"]);
    if (!fields) continue;
    auto written = schema::Document::parse_json(fields->fields_v1());
    if (!written || !(patches::FieldSet::from_fields_v1(written->root()) == *fields)) std::abort();
    if (!fields->empty()) sets[entry["manager"].string()] = {std::move(*fields), "v1", false};
  }
  return sets;
}

void apply_to(const schema::Value& object, const schema::Value& config, const patches::MergeType& type) {
  if (!check_type(object, type, patches::Duplicates::allowed).empty()) return;
  if (!check_type(config, type, patches::Duplicates::refused).empty()) return;
  const patches::TypedObject live{object, &type, "v1", nullptr}, wanted{config, &type, "v1", nullptr};
  const auto first = apply_managed(OneVersion(), live, wanted, owners_in(object), "me", true);
  if (!first) std::abort();
  const patches::TypedObject once = first->object ? *first->object : live;
  fuzz::check_sound(schema::Document::copy_of(once.value));
  const auto second = apply_managed(OneVersion(), once, wanted, first->managers, "me", false);
  if (!second || second->object || !(second->managers == first->managers)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto input = fuzz::split(fuzz::text_of(data, size));
  if (!input) return 0;
  const schema::Registry& kinds = *schema::Registry::builtin();
  auto& types = kinds.part<patches::MergeTypes>();
  for (const schema::Type type : {kinds.find_kind("", "v1", "Pod"), kinds.find_kind("apps", "v1", "Deployment")})
    apply_to(input->first.root(), input->second.root(), types.of(type));
  apply_to(input->first.root(), input->second.root(), patches::deduced_type());
  return 0;
}
