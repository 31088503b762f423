#include "sublet/patches/template.h"

#include "patches/template/config_keys.h"
#include "patches/template/parameters.h"
#include "patches/template/reader.h"
#include "patches/template/rule.h"

namespace sublet::patches {

using schema::Value;

namespace {

// Raised when the engine changes what it makes of the same template, so that host objects are written anew.
constexpr std::string_view kEngineVersion = "1";

// The keys of a template that are no configuration.
const std::vector<std::string_view> kOwnKeys = {"description", "parameters", "patches"};

// Annotations that people write and nobody reads. A host object that still has one after all patches warns its author.
struct DeadAnnotation {
  std::string_view kind, key, advice;
};
constexpr DeadAnnotation kDeadAnnotations[] = {
    {"Pod", "nvidia.com/gpu-fraction",
     "this virtual cluster's template does not translate it (templates/gpu-fraction.yaml does), and KAI reads only "
     "\"gpu-fraction\""},
    {"Pod", "gpu-fractions-num-devices", "KAI reads only \"gpu-fraction-num-devices\""},
};

void warn_of_dead_annotations(std::string_view kind, const Value& object, PatchReport& report) {
  const Value annotations = object["metadata"]["annotations"];
  for (const DeadAnnotation& dead : kDeadAnnotations)
    if (dead.kind == kind && annotations.has(dead.key))
      report.warnings.push_back("annotation \"" + std::string(dead.key) +
                                "\" has no effect: " + std::string(dead.advice));
}

// 64-bit FNV-1a of length-prefixed parts: tells versions apart, guards nothing.
class Digest {
 public:
  void add(std::string_view part) {
    const std::string size = std::to_string(part.size()) + ':';
    for (const std::string_view text : {std::string_view(size), part})
      for (const char c : text) {
        hash_ ^= static_cast<unsigned char>(c);
        hash_ *= 0x100000001b3ull;
      }
  }
  std::string text() const {
    char buffer[17];
    std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(hash_));
    return buffer;
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ull;
};

}  // namespace

struct Template::Impl {
  std::string source;
  SyncConfig config;
  std::vector<Parameter> parameters;
  std::shared_ptr<const std::vector<Rule>> rules = std::make_shared<const std::vector<Rule>>();
};

namespace {

class Resolved final : public ResolvedTemplate {
 public:
  Resolved(SyncConfig config, std::shared_ptr<const std::vector<Rule>> rules, std::vector<BoundParameter> parameters,
           std::string digest)
      : config_(std::move(config)),
        rules_(std::move(rules)),
        parameters_(std::move(parameters)),
        digest_(std::move(digest)) {
    cel::Map map;
    for (const BoundParameter& parameter : parameters_)
      map.emplace_back(cel::Value::borrowed(parameter.name), parameter.value);
    parameter_map_ = cel::Value::map(std::move(map));
  }

  const SyncConfig& config() const override { return config_; }
  std::string digest() const override { return digest_; }

  PatchReport apply(std::string_view kind, Value object, const Value& tenant_object,
                    const PatchContext& context) const override {
    PatchReport report;
    const ObjectScope::Facts facts = facts_of(kind, object, tenant_object, context);
    for (const Rule& rule : *rules_)
      if (rule.targets(kind)) rule.apply(facts, report);
    warn_of_dead_annotations(kind, object, report);
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
  std::string digest_;
};

}  // namespace

Template::Template() : impl_(std::make_unique<Impl>()) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

Template Template::none() { return {}; }

Result<Template> Template::load(std::string_view yaml, const std::string& file_name, const BorderFacts& border) {
  Template loaded;
  Problems problems(file_name, yaml);
  YamlNode root;
  if (!read_yaml(yaml, root, problems)) return fail(problems.status());
  MapReader reader(root, "", problems);
  if (!problems.empty()) return fail(problems.status());  // not even a map
  (void)reader.text("description");
  Impl& impl = *loaded.impl_;
  impl.source = yaml;
  impl.config = read_config(root, kOwnKeys, problems);
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
  Digest digest;
  for (const std::string_view part : {kEngineVersion, std::string_view(impl_->source),
                                      std::string_view(virtual_cluster), std::string_view(host_namespace)})
    digest.add(part);
  for (const BoundParameter& parameter : *bound) {
    digest.add(parameter.name);
    digest.add(cel::debug_text(parameter.value));
  }
  return std::make_shared<const Resolved>(impl_->config, impl_->rules, std::move(*bound), digest.text());
}

}  // namespace sublet::patches
