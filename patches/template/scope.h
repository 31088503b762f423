// Scope: what the expressions of a template can see, and the values behind it while one object is worked on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sublet/patches/cel.h"
#include "sublet/patches/template.h"

namespace sublet::patches {

/// A parameter with its value for one virtual cluster.
struct BoundParameter {
  std::string name;
  cel::Value value;  // owns its text
};

/// The variables that every expression of a template has, in the order of their slots; parameters and a patch's own
/// variables follow.
enum class Slot : int {
  object,
  tenant,
  kind,
  cluster,
  cluster_name,
  cluster_host_namespace,
  cluster_tenant_namespace,
  item,
  key,
  value,
  params,
  first_parameter,
};

/// Names for expressions that stand outside of paths: without item, key and value.
cel::Environment base_environment(const std::vector<std::string>& parameters, const std::vector<cel::Kind>& types);
/// For parameter defaults: only cluster.name and cluster.hostNamespace.
cel::Environment default_environment();

/// A named expression of a patch, `variables.NAME`.
struct VariableRule {
  std::string name;
  cel::Program program;
};

/// What item, key and value stand for.
struct PathFocus {
  cel::Value item;
  cel::Value key;
  cel::Value value;
};

/// The values for one object and one patch. `variables` are evaluated when they are first asked for.
class ObjectScope final : public cel::Activation {
 public:
  struct Facts {
    schema::Value object;
    schema::Value tenant;
    std::string_view kind;
    const PatchContext* context = nullptr;
    const std::vector<BoundParameter>* parameters = nullptr;
    const cel::Value* parameter_map = nullptr;
  };
  ObjectScope(const Facts& facts, const std::vector<VariableRule>& variables)
      : facts_(facts), variables_(variables), cache_(variables.size()) {}

  cel::Value get(int slot) const override;
  void focus(const PathFocus& focus) { focus_ = focus; }

 private:
  cel::Value cluster() const;
  cel::Value variable(std::size_t index) const;

  const Facts& facts_;
  const std::vector<VariableRule>& variables_;
  PathFocus focus_;
  mutable std::vector<std::unique_ptr<cel::Value>> cache_;
};

}  // namespace sublet::patches
