#include "patches/template/scope.h"

namespace sublet::patches {

using cel::Kind;

namespace {

struct KnownVariable {
  const char* name;
  Kind type;
};

// In the order of Slot.
constexpr KnownVariable kKnownVariables[] = {
    {"object", Kind::map},
    {"tenant", Kind::map},
    {"kind", Kind::string},
    {"cluster", Kind::map},
    {"cluster.name", Kind::string},
    {"cluster.hostNamespace", Kind::string},
    {"cluster.tenantNamespace", Kind::string},
    {"item", Kind::dyn},
    {"key", Kind::dyn},
    {"value", Kind::dyn},
    {"params", Kind::map},
};
static_assert(std::size(kKnownVariables) == static_cast<std::size_t>(Slot::first_parameter));

cel::Value text_map(std::initializer_list<std::pair<const char*, std::string_view>> entries) {
  cel::Map map;
  for (const auto& [name, text] : entries) map.emplace_back(cel::Value::borrowed(name), cel::Value::borrowed(text));
  return cel::Value::map(std::move(map));
}

}  // namespace

cel::Environment base_environment(const std::vector<std::string>& parameters, const std::vector<Kind>& types) {
  cel::Environment environment;
  for (const KnownVariable& known : kKnownVariables) environment.declare(known.name, known.type);
  environment.close("cluster", "fact about the cluster");
  environment.close("params", "parameter");
  environment.close("variables", "variable");
  for (std::size_t i = 0; i < parameters.size(); ++i) environment.declare("params." + parameters[i], types[i]);
  for (const char* name : {"item", "key", "value"}) environment.hide(name);
  return environment;
}

cel::Environment default_environment() {
  cel::Environment environment = base_environment({}, {});
  for (const char* name : {"object", "tenant", "kind", "cluster.tenantNamespace", "params"}) environment.hide(name);
  return environment;
}

cel::Value ObjectScope::get(int slot) const {
  const PatchContext& context = *facts_.context;
  switch (static_cast<Slot>(slot)) {
    case Slot::object:
      return cel::Value::of(facts_.object);
    case Slot::tenant:
      return cel::Value::of(facts_.tenant);
    case Slot::kind:
      return cel::Value::borrowed(facts_.kind);
    case Slot::cluster:
      return text_map({{"name", context.virtual_cluster},
                       {"hostNamespace", context.host_namespace},
                       {"tenantNamespace", context.tenant_namespace}});
    case Slot::cluster_name:
      return cel::Value::borrowed(context.virtual_cluster);
    case Slot::cluster_host_namespace:
      return cel::Value::borrowed(context.host_namespace);
    case Slot::cluster_tenant_namespace:
      return cel::Value::borrowed(context.tenant_namespace);
    case Slot::item:
      return focus_.item;
    case Slot::key:
      return focus_.key;
    case Slot::value:
      return focus_.value;
    case Slot::params:
      return *facts_.parameter_map;
    case Slot::first_parameter:
      break;
  }
  const std::size_t index = static_cast<std::size_t>(slot) - static_cast<std::size_t>(Slot::first_parameter);
  if (index < facts_.parameters->size()) return (*facts_.parameters)[index].value;
  return variable(index - facts_.parameters->size());
}

// A variable can only name earlier ones, so this ends.
cel::Value ObjectScope::variable(std::size_t index) const {
  if (!cache_[index]) {
    cel::Value value = variables_[index].program.evaluate(*this);
    if (value.is_error())
      value = cel::Value::error("variables." + variables_[index].name + ": " + value.failure().message);
    cache_[index] = std::make_unique<cel::Value>(std::move(value));
  }
  return *cache_[index];
}

}  // namespace sublet::patches
