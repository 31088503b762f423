#include "sublet/syncer/explain.h"

#include <algorithm>
#include <map>

#include "syncer/translate/field_table.h"

namespace sublet::syncer {
namespace {

using schema::Value;

// Leaves by path, in the object's order. Values of maps and lists that hold none are leaves themselves.
struct Leaf {
  std::string path, json;
};

void collect_leaves(const Value& value, const std::string& path, std::vector<Leaf>& out) {
  const bool holds = (value.is_object() || value.is_array()) && !value.empty();
  if (!holds) return out.push_back({path, value.to_json()});
  std::size_t at = 0;
  for (const Value child : value) {
    if (value.is_array())
      collect_leaves(child, path + "[" + std::to_string(at++) + "]", out);
    else
      collect_leaves(child, path.empty() ? std::string(child.key()) : path + "." + std::string(child.key()), out);
  }
}

class Leaves {
 public:
  explicit Leaves(const Value& object) {
    if (object) collect_leaves(object, "", all_);
    for (const Leaf& leaf : all_) by_path_.emplace(leaf.path, leaf.json);
  }
  const std::vector<Leaf>& all() const { return all_; }
  /// "" where there is none.
  std::string at(const std::string& path) const {
    const auto found = by_path_.find(path);
    return found == by_path_.end() ? "" : found->second;
  }

 private:
  std::vector<Leaf> all_;
  std::map<std::string, std::string> by_path_;
};

struct ActionName {
  Action action;
  std::string_view name;
};
constexpr ActionName kActionNames[] = {{Action::copy, "copy"},   {Action::walk, "walk"},   {Action::rewrite, "rewrite"},
                                       {Action::clamp, "clamp"}, {Action::force, "force"}, {Action::drop, "drop"},
                                       {Action::warn, "warn"},   {Action::deny, "deny"}};

// The last row on the way to the leaf.
const FieldRow* leaf_row_of(std::string_view kind, std::string_view path) {
  const TypePlan* plan = plan_of(kind);
  const FieldRow* last = nullptr;
  bool key_of_map = false;
  while (plan && !path.empty()) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    const std::string_view name = path.substr(0, end);
    path.remove_prefix(end);
    if (path.starts_with('[')) path.remove_prefix(std::min(path.find(']') + 1, path.size()));
    if (path.starts_with('.')) path.remove_prefix(1);
    if (std::exchange(key_of_map, false)) continue;
    std::size_t place = 0;
    const FieldPlan* field = plan->find(name, place);
    if (!field) break;
    last = field->row;
    plan = field->into;
    key_of_map = field->row->each;
  }
  return last;
}

// Which patch was the last to write a leaf: one picture of the object after each.
class PatchedLeaves {
 public:
  explicit PatchedLeaves(const Value& unpatched) { look("", unpatched); }
  void look(std::string_view patch, const Value& object) {
    std::vector<Leaf> leaves;
    if (object) collect_leaves(object, "", leaves);
    std::map<std::string, std::string> now;
    for (Leaf& leaf : leaves) now.emplace(std::move(leaf.path), std::move(leaf.json));
    for (const auto& [path, json] : now)
      if (const auto before = last_.find(path); before == last_.end() || before->second != json) by_[path] = patch;
    for (const auto& [path, json] : last_)
      if (!now.contains(path)) by_[path] = patch;
    last_ = std::move(now);
  }
  /// "" where none did, or where what it made of it is not what is there.
  std::string patch_of(const std::string& path, const std::string& json) const {
    const auto by = by_.find(path);
    const auto made = last_.find(path);
    return by != by_.end() && (made == last_.end() ? "" : made->second) == json ? by->second : "";
  }

 private:
  std::map<std::string, std::string> last_, by_;
};

class Comparison {
 public:
  Comparison(std::string_view kind, const Value& tenant, const PatchedLeaves& patched, const Value& desired,
             const Value& on_host)
      : kind_(kind), tenant_(tenant), patched_(patched), desired_(desired), on_host_(on_host), live_(bool(on_host)) {}

  std::vector<ExplainedField> fields() {
    for (const Leaf& leaf : tenant_.all()) look(leaf.path);
    for (const Leaf& leaf : desired_.all())
      if (tenant_.at(leaf.path).empty()) look(leaf.path);
    if (live_)
      for (const Leaf& leaf : on_host_.all())
        if (tenant_.at(leaf.path).empty() && desired_.at(leaf.path).empty()) look(leaf.path);
    return std::move(out_);
  }

 private:
  void look(const std::string& path) {
    // What the host says of its own copy is no difference that anybody wants explained.
    for (const std::string_view skipped : {"status", "metadata.managedFields", "metadata.resourceVersion",
                                           "metadata.generation", "metadata.creationTimestamp", "metadata.uid"})
      if (path == skipped || path.starts_with(std::string(skipped) + ".") ||
          path.starts_with(std::string(skipped) + "["))
        return;
    const std::string tenant = tenant_.at(path), desired = desired_.at(path);
    const std::string final = live_ ? on_host_.at(path) : desired;
    if (tenant == final) return;
    ExplainedField field{path, tenant, final, ExplainedField::Cause::row, "", "", patched_.patch_of(path, final)};
    const FieldRow* row = leaf_row_of(kind_, path);
    if (row) {
      field.action = std::ranges::find(kActionNames, row->action, &ActionName::action)->name;
      field.why = row->why;
    }
    if (live_ && final != desired)
      field.cause = ExplainedField::Cause::host;
    else if (!field.patch.empty())
      field.cause = ExplainedField::Cause::patch;
    else if (!row || row->action == Action::walk || row->action == Action::copy)
      field.cause = ExplainedField::Cause::border;
    if (field.cause != ExplainedField::Cause::row) field.action.clear(), field.why.clear();
    if (field.cause != ExplainedField::Cause::patch) field.patch.clear();
    out_.push_back(std::move(field));
  }

  const std::string_view kind_;
  const Leaves tenant_;
  const PatchedLeaves& patched_;
  const Leaves desired_, on_host_;
  const bool live_;
  std::vector<ExplainedField> out_;
};

}  // namespace

Explanation explain(const TranslateContext& context, std::string_view kind, const Value& tenant_object,
                    const Value& on_host) {
  Explanation out;
  // What is stored may have its node already, which nobody may ask for at create.
  const bool stored = !tenant_object["metadata"]["resourceVersion"].text().empty();
  const Operation operation = stored ? Operation::update : Operation::create;
  TranslateContext rows_alone = context;
  rows_alone.patched = false;
  const auto by_rows = translate(rows_alone, kind, tenant_object, operation);
  PatchedLeaves patched(by_rows ? by_rows->host_object.root() : Value());
  TranslateContext watched = context;
  watched.after_patch = [&patched](std::string_view patch, const Value& object) { patched.look(patch, object); };
  auto desired = translate(watched, kind, tenant_object, operation);
  if (!desired) {
    out.denied = std::move(desired.error().causes);
    return out;
  }
  const Value host = desired->host_object.root();
  out.host_namespace = host["metadata"]["namespace"].string();
  out.host_name = host["metadata"]["name"].string();
  out.warnings = std::move(desired->warnings);
  out.fields = Comparison(kind, tenant_object, patched, host, on_host).fields();
  return out;
}

}  // namespace sublet::syncer
