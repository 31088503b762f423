#include "patches/template/scope.h"

namespace sublet::patches {

using cel::Kind;
using cel::Value;

namespace {

struct Known {
  const char* name;
  Kind type;
};

// In the order of Slot.
constexpr Known kKnown[] = {
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
static_assert(std::size(kKnown) == static_cast<std::size_t>(Slot::first_parameter));

Value map_of(std::initializer_list<std::pair<const char*, std::string_view>> entries) {
  cel::Map map;
  for (const auto& [name, text] : entries) map.emplace_back(Value::borrowed(name), Value::borrowed(text));
  return Value::map(std::move(map));
}

}  // namespace

cel::Environment base_environment(const std::vector<std::string>& parameters, const std::vector<Kind>& types) {
  cel::Environment environment;
  for (const Known& known : kKnown) environment.declare(known.name, known.type);
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

Value ObjectScope::get(int slot) const {
  const PatchContext& context = *facts_.context;
  switch (static_cast<Slot>(slot)) {
    case Slot::object:
      return Value::of(facts_.object);
    case Slot::tenant:
      return Value::of(facts_.tenant);
    case Slot::kind:
      return Value::borrowed(facts_.kind);
    case Slot::cluster:
      return map_of({{"name", context.virtual_cluster},
                     {"hostNamespace", context.host_namespace},
                     {"tenantNamespace", context.tenant_namespace}});
    case Slot::cluster_name:
      return Value::borrowed(context.virtual_cluster);
    case Slot::cluster_host_namespace:
      return Value::borrowed(context.host_namespace);
    case Slot::cluster_tenant_namespace:
      return Value::borrowed(context.tenant_namespace);
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
Value ObjectScope::variable(std::size_t index) const {
  if (!cache_[index]) {
    Value value = variables_[index].program.evaluate(*this);
    if (value.is_error()) value = Value::error("variables." + variables_[index].name + ": " + value.failure().message);
    cache_[index] = std::make_unique<Value>(std::move(value));
  }
  return *cache_[index];
}

}  // namespace sublet::patches
