#include "sublet/patches/template.h"

#include "patches/template/allowed.h"
#include "patches/template/config_keys.h"
#include "patches/template/parameters.h"
#include "patches/template/reader.h"
#include "patches/template/rule.h"

namespace sublet::patches {

using schema::Value;

namespace {

// The keys of a template that are no configuration.
const std::vector<std::string_view> kOwnKeys = {"description", "parameters", "patches", "allow"};

// Annotations that people write and nobody reads. Its author is warned, unless the template lets it cross and a patch
// has then taken it away: that patch has read it.
struct DeadAnnotation {
  std::string_view kind, key, advice;
};
constexpr DeadAnnotation kDeadAnnotations[] = {
    {"Pod", "nvidia.com/gpu-fraction",
     "this virtual cluster's template does not translate it (templates/gpu-fraction.yaml does), and KAI reads only "
     "\"gpu-fraction\""},
    {"Pod", "gpu-fractions-num-devices", "KAI reads only \"gpu-fraction-num-devices\""},
};

void warn_of_dead_annotations(std::string_view kind, const Value& object, const Value& tenant, const Allowed& allowed,
                              PatchReport& report) {
  const auto read = [&](std::string_view key) {
    return allowed.metadata_of(kind).annotations.match(key) && !object["metadata"]["annotations"].has(key);
  };
  for (const DeadAnnotation& dead : kDeadAnnotations)
    if (dead.kind == kind && tenant["metadata"]["annotations"].has(dead.key) && !read(dead.key))
      report.warnings.push_back("annotation \"" + std::string(dead.key) +
                                "\" has no effect: " + std::string(dead.advice));
}

}  // namespace

struct Template::Impl {
  SyncConfig config;
  std::vector<Parameter> parameters;
  std::shared_ptr<const std::vector<Rule>> rules = std::make_shared<const std::vector<Rule>>();
};

namespace {

class Resolved final : public ResolvedTemplate {
 public:
  Resolved(SyncConfig config, std::shared_ptr<const std::vector<Rule>> rules, std::vector<BoundParameter> parameters)
      : config_(std::move(config)), rules_(std::move(rules)), parameters_(std::move(parameters)) {
    cel::Map map;
    for (const BoundParameter& parameter : parameters_)
      map.emplace_back(cel::Value::borrowed(parameter.name), parameter.value);
    parameter_map_ = cel::Value::map(std::move(map));
  }

  const SyncConfig& config() const override { return config_; }

  PatchReport apply(std::string_view kind, Value object, const Value& tenant_object,
                    const PatchContext& context) const override {
    PatchReport report;
    const ObjectScope::Facts facts = facts_of(kind, object, tenant_object, context);
    for (const Rule& rule : *rules_)
      if (rule.targets(kind)) {
        const std::size_t held = report.applied.size();
        rule.apply(facts, report);
        if (context.after_patch && report.applied.size() > held) context.after_patch(report.applied.back(), object);
      }
    warn_of_dead_annotations(kind, object, tenant_object, config_.allowed, report);
    return report;
  }

  std::vector<std::string> check_update(std::string_view kind, const Value& before, const Value& after,
                                        const PatchContext& context) const override {
    std::vector<std::string> denials;
    const ObjectScope::Facts facts = facts_of(kind, before, before, context);
    for (const Rule& rule : *rules_)
      if (rule.targets(kind)) rule.check_update(facts, after, denials);
    return denials;
  }

 private:
  ObjectScope::Facts facts_of(std::string_view kind, Value object, const Value& tenant,
                              const PatchContext& context) const {
    return {.object = object,
            .tenant = tenant,
            .kind = kind,
            .context = &context,
            .parameters = &parameters_,
            .parameter_map = &parameter_map_};
  }

  SyncConfig config_;
  std::shared_ptr<const std::vector<Rule>> rules_;
  std::vector<BoundParameter> parameters_;
  cel::Value parameter_map_;
};

}  // namespace

Template::Template() : impl_(std::make_unique<Impl>()) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

Template Template::none() { return {}; }

Result<Template> Template::load(std::string_view yaml, const std::string& file_name, const BorderFacts& border,
                                std::vector<std::string>* left_out) {
  Template loaded;
  Problems problems(file_name, yaml), refused(file_name, yaml);
  YamlNode root;
  if (!read_yaml(yaml, root, problems)) return fail(problems.status());
  MapReader reader(root, "", problems);
  if (!problems.empty()) return fail(problems.status());  // not even a map
  (void)reader.text("description");
  Impl& impl = *loaded.impl_;
  impl.config = read_config(root, kOwnKeys, problems, left_out ? refused : problems);
  if (left_out) *left_out = refused.lines();
  impl.config.allowed = read_allowed(root.find("allow"), border.patched_kinds, problems);
  if (impl.config.hybrid_scheduling)
    for (const std::string& scheduler : impl.config.host_schedulers) impl.config.allowed.schedulers.add(scheduler);
  impl.parameters = read_parameters(root.find("parameters"), problems);
  std::vector<std::string> names;
  std::vector<cel::Kind> kinds;
  for (const Parameter& parameter : impl.parameters) {
    names.push_back(parameter.name());
    kinds.push_back(parameter.kind());
  }
  impl.rules = std::make_shared<const std::vector<Rule>>(
      read_rules(root.find("patches"), base_environment(names, kinds), border, problems));
  if (!problems.empty()) return fail(problems.status());
  return loaded;
}

Result<std::shared_ptr<const ResolvedTemplate>> Template::resolve(const std::map<std::string, std::string>& parameters,
                                                                  const std::string& virtual_cluster,
                                                                  const std::string& host_namespace) const {
  const PatchContext context{
      .virtual_cluster = virtual_cluster, .tenant_namespace = {}, .host_namespace = host_namespace};
  auto bound = bind_parameters(impl_->parameters, parameters, context);
  if (!bound) return fail(bound.error());
  return std::make_shared<const Resolved>(impl_->config, impl_->rules, std::move(*bound));
}

}  // namespace sublet::patches
