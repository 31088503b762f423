// A case for each row of the field table that does not simply let a value cross, made from the table itself: a value at
// that place, sent through translate() (or, from the host, carry_back()), and what came of it. What came stands in
// border_rows.golden, a line a row, for a person to read; SUBLET_GOLDEN=write makes the file anew.
//
// A row that is taken away fails the build. One that becomes `copy`, or acts otherwise than it did, differs from the
// file; and whatever the file says, nothing of a row that keeps a value back may be found on the other side.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "sublet/schema/registry.h"
#include "sublet/syncer/node_names.h"
#include "sublet/syncer/translate.h"
#include "syncer/translate/field_table.h"
#include "syncer/translate/rewrites.h"
#include "syncer/translate/translation.h"
#include "tests/support/source_path.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Field;
using schema::Scalar;
using schema::Type;
using schema::Value;

constexpr int kDepthMax = 12;
const std::string kGolden = source_path("syncer/translate/border_rows.golden");

const char* name_of(Action action) {
  switch (action) {
    case Action::copy:
      return "copy";
    case Action::walk:
      return "walk";
    case Action::rewrite:
      return "rewrite";
    case Action::clamp:
      return "clamp";
    case Action::force:
      return "force";
    case Action::drop:
      return "drop";
    case Action::warn:
      return "warn";
    case Action::deny:
      return "deny";
  }
  return "";
}
bool keeps_back(Action action) { return !lets_cross(action); }

// A value that no default and no host would choose.
std::string sample_scalar(const Field& field) {
  switch (field.scalar()) {
    case Scalar::boolean:
      return "true";
    case Scalar::int32:
    case Scalar::int64:
    case Scalar::int_or_string:
      return "1234567";
    case Scalar::floating:
      return "12345.5";
    case Scalar::bytes:
      return "\"c2FtcGxl\"";
    case Scalar::quantity:
      return "\"1234567\"";
    case Scalar::time:
    case Scalar::micro_time:
      return "\"2031-01-01T00:00:00Z\"";
    default:
      break;
  }
  if (field.enum_values().size() > 0) {
    // The one that a default does not give.
    const std::string_view last = field.enum_values()[field.enum_values().size() - 1];
    return "\"" + std::string(last) + "\"";
  }
  return "\"sample\"";
}

std::string sample(const Field& field, int depth);

// The first field that there is a value for: enough to be more than the type's zero.
std::string sample_struct(const Type& type, int depth) {
  for (std::size_t i = 0; i < type.field_count() && depth < kDepthMax; ++i) {
    const Field field = type.field_at(i);
    if (field.inlined()) return sample_struct(field.type(), depth + 1);
    return "{\"" + std::string(field.name()) + "\":" + sample(field, depth + 1) + "}";
  }
  return "{}";
}

std::string sample(const Field& field, int depth) {
  std::string one;
  switch (field.scalar()) {
    case Scalar::message:
      one = sample_struct(field.type(), depth);
      break;
    case Scalar::fields_v1:
    case Scalar::raw_extension:
    case Scalar::json:
    case Scalar::schema_or_array:
    case Scalar::schema_or_bool:
    case Scalar::schema_or_strings:
      one = R"({"sample":"sample"})";
      break;
    default:
      one = sample_scalar(field);
  }
  if (field.map_of_lists()) return R"({"sample":[)" + one + "]}";
  if (field.map()) return R"({"sample":)" + one + "}";
  return field.repeated() ? "[" + one + "]" : one;
}

// How to come from the root to a field: "spec", "containers", "[]", "image". "{}" is a member of a map.
using Path = std::vector<std::string>;

std::string text_of(const Path& path) {
  std::string out;
  for (const auto& step : path) out += (step == "[]" || step == "{}" || out.empty() ? "" : ".") + step;
  return out;
}

// The value at the path, with all that must stand around it.
std::string around(const Path& path, const std::string& value) {
  std::string out = value;
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    if (*step == "[]")
      out = "[" + out + "]";
    else
      out = "{\"" + (*step == "{}" ? "sample" : *step) + "\":" + out + "}";
  }
  return out;
}

// Of a list the last item: what the border adds to a list stands before what the tenant sent.
Value at(Value value, const Path& path) {
  for (const auto& step : path)
    value = step == "[]" ? value.at(std::max<std::size_t>(value.size(), 1) - 1) : value[step == "{}" ? "sample" : step];
  return value;
}

void merge(Value into, const Value& from) {
  for (const Value member : from) {
    const std::string key(member.key());
    if (member.is_object() && into[key].is_object())
      merge(into[key], member);
    else if (member.is_array() && into[key].is_array() && into[key].size() > 0 && member.at(0).is_object())
      merge(into[key].at(0), member.at(0));
    else
      into.put(key, member);
  }
}

// Where any other value would cross: one that must not.
struct Telling {
  std::string_view row, value;
};
constexpr Telling kTelling[] = {
    {"VolumeMount.mountPropagation", R"("Bidirectional")"},
    {"Secret.type", R"("kubernetes.io/service-account-token")"},
    {"EnvFromSource.prefix", R"("LD_")"},
    {"ConfigMap.data", R"({"LD_PRELOAD":"sample"})"},
    {"Secret.data", R"({"LD_PRELOAD":"c2FtcGxl"})"},
    {"EnvVarSource.fieldRef", R"({"fieldPath":"status.hostIP"})"},
    {"ObjectFieldSelector.fieldPath", R"("metadata.name")"},
    {"PriorityClass.value", "2000000000"},
    {"Container.env", R"([{"name":"LD_PRELOAD","value":"sample"}])"},
    {"EphemeralContainer.env", R"([{"name":"LD_PRELOAD","value":"sample"}])"},
    {"PodDisruptionBudgetSpec.minAvailable", R"("50%")"},
    {"PodSpec.dnsPolicy", R"("ClusterFirst")"},
    {"PersistentVolumeSpec.claimRef", R"({"namespace":"sample","name":"sample"})"},
    {"PersistentVolumeSpec.persistentVolumeReclaimPolicy", R"("Recycle")"},
};

struct Case {
  std::string type;  // of the row
  std::string_view field;
  const FieldRow* row;
  Path path;
  std::string value;
};

// Every row that is reached from a root, where it is reached first.
class Cases {
 public:
  std::vector<Case> of(std::string_view root) {
    seen_.clear();
    found_.clear();
    Path path;
    collect(plan_of(root), path);
    return std::move(found_);
  }

 private:
  void collect(const TypePlan* plan, Path& path) {
    if (!plan || path.size() > 24) return;
    const Type type = schema::Registry::builtin()->find_type(schema_name(*plan->rows));
    for (const FieldPlan& field : plan->fields) {
      if (!seen_.insert(std::string(plan->rows->type) + "." + std::string(field.name)).second) continue;
      const auto facts = type.field(field.name);
      if (!facts) continue;
      path.emplace_back(field.name);
      if (field.row->action != Action::copy && field.row->action != Action::walk)
        found_.push_back({std::string(plan->rows->type), field.name, field.row, path,
                          value_for(std::string(plan->rows->type) + "." + std::string(field.name), *facts)});
      const std::size_t depth = path.size();
      if (facts->repeated()) path.emplace_back("[]");
      if (facts->map()) path.emplace_back("{}");
      collect(field.into, path);
      path.resize(depth - 1);
    }
  }
  static std::string value_for(const std::string& row, const Field& field) {
    for (const Telling& telling : kTelling)
      if (telling.row == row) return std::string(telling.value);
    return sample(field, 0);
  }
  std::set<std::string> seen_;
  std::vector<Case> found_;
};

TranslateContext context_of_rows() {
  TranslateContext context;
  context.virtual_cluster = "rag";
  context.virtual_cluster_uid = "vc-uid";
  context.host_namespace = "team";
  context.host_service_account = "workload";
  context.api_server_host = "10.1.2.3";
  context.api_server_port = "7443";
  // Where a tenant's own classes cross, so that a claim's names one; and Workloads, so that a group's does.
  const auto loaded = patches::Template::load(
      "sync: {toHost: {storageClasses: {enabled: true}, podGroups: {enabled: true}, workloads: {enabled: true}}}\n",
      "rows");
  context.resolved_template = loaded->resolve({}, "rag", "team").value();
  return context;
}

// Where tenants have names of their own for nodes, and what the cases say is the name of one.
TranslateContext context_of_pseudo_names() {
  TranslateContext context = context_of_rows();
  context.node_names = std::make_shared<NodeNames>("key");
  context.node_names->know({"sample"});
  return context;
}

bool finds_nodes(const Case& one) {
  return one.row->function == find_required_nodes || one.row->function == find_chosen_nodes;
}

// What the kind cannot do without.
Document smallest(std::string_view kind) {
  const Type type = schema::Registry::builtin()->find_type(schema_name(*plan_of(kind)->rows));
  std::string api_version;
  for (std::size_t i = 0; i < schema::Registry::builtin()->kind_count(); ++i)
    if (const auto facts = schema::Registry::builtin()->kind_at(i); facts.type == type && facts.kind == kind)
      api_version = (facts.group.empty() ? "" : std::string(facts.group) + "/") + std::string(facts.version);
  std::string rest;
  if (kind == "Pod") rest = R"(,"spec":{"containers":[{"name":"c","image":"i"}]})";
  if (kind == "PersistentVolumeClaim")  // a source of another kind is refused, whatever its name
    rest =
        R"(,"spec":{"dataSource":{"kind":"PersistentVolumeClaim"},"dataSourceRef":{"kind":"PersistentVolumeClaim"}})";
  if (kind == "PodDisruptionBudget") rest = R"(,"status":{"observedGeneration":1,"desiredHealthy":3})";
  auto made = Document::parse_json(R"({"apiVersion":")" + api_version + R"(","kind":")" + std::string(kind) +
                                   R"(","metadata":{"name":"a","namespace":"ns","uid":"u"})" + rest + "}");
  return std::move(*made);
}

std::string came_of(const Value& crossed, const Case& one) {
  const Value value = at(crossed, one.path);
  if (value.missing()) return "absent";
  std::string text = value.to_json();
  if (text == one.value) return "crosses as it is";
  // The digest of all that is written changes with everything.
  if (const auto digest = text.find("\"h:"); digest != std::string::npos) text.replace(digest + 3, 32, "...");
  return text;
}

std::string line(std::string_view root, const Case& one, const std::string& outcome) {
  return std::string(root) + " " + text_of(one.path) + " | " + name_of(one.row->action) + " | " + one.value + " -> " +
         outcome;
}

Document object_of(std::string_view kind, const Case& one) {
  Document object = smallest(kind);
  const auto change = Document::parse_json(around(one.path, one.value));
  merge(object.root(), change->root());
  return object;
}

// Ephemeral containers come to a pod that is there.
Operation operation_of(const Case& one) {
  return text_of(one.path).find("ephemeralContainers") != std::string::npos ? Operation::update : Operation::create;
}

// What the rows alone make of it, before what the border writes and removes at the end.
std::string made_by_rows(const TranslateContext& context, std::string_view kind, const Case& one) {
  if (finds_nodes(one) && !context.node_names) return made_by_rows(context_of_pseudo_names(), kind, one);
  const Document object = object_of(kind, one);
  const Document crossing = object.clone();
  Translation translation(context, object.root(), operation_of(one));
  translation.walk(crossing.root(), kind);
  std::string out = came_of(crossing.root(), one);
  for (const Cause& cause : translation.causes) out += "; refused: " + cause.field + ": " + cause.message;
  for (const auto& warning : translation.warnings) out += "; warning: " + warning;
  return out;
}

// Refused, or what crossed of it, and what the tenant hears.
std::string sent_to_host(const TranslateContext& context, std::string_view kind, const Case& one) {
  if (finds_nodes(one) && !context.node_names) return sent_to_host(context_of_pseudo_names(), kind, one);
  const Document object = object_of(kind, one);
  const auto result = translate(context, kind, object.root(), operation_of(one));
  if (!result) {
    std::string why = "refused:";
    for (const Cause& cause : result.error().causes) why += " " + cause.field + ": " + cause.message + ";";
    return why;
  }
  std::string out = came_of(result->host_object.root(), one);
  for (const auto& warning : result->warnings) out += "; warning: " + warning;
  return out;
}

std::string brought_back(std::string_view root, const Case& one) {
  const auto host = Document::parse_json(around(one.path, one.value));
  const auto tenant = Document::parse_json(R"({"metadata":{"name":"a","namespace":"ns","uid":"u"}})");
  return came_of(carry_back(root, host->root(), tenant->root(), context_of_pseudo_names()).root(), one);
}

std::vector<std::string> all_lines() {
  const TranslateContext context = context_of_rows();
  std::vector<std::string> lines;
  Cases cases;
  for (const HostKind& kind : host_kinds())
    for (const Case& one : cases.of(kind.kind)) {
      const std::string outcome = sent_to_host(context, kind.kind, one);
      lines.push_back(line(kind.kind, one, outcome));
      if (keeps_back(one.row->action)) {
        EXPECT_NE(outcome.substr(0, 16), "crosses as it is") << lines.back();
      }
      if (one.row->action == Action::deny) {
        EXPECT_EQ(outcome.substr(0, 8), "refused:") << lines.back();
      }
    }
  for (const std::string_view root : from_host_roots())
    for (const Case& one : cases.of(root)) {
      const std::string outcome = brought_back(root, one);
      lines.push_back("from host: " + line(root, one, outcome));
      if (keeps_back(one.row->action)) {
        EXPECT_NE(outcome, "crosses as it is") << lines.back();
      }
    }
  return lines;
}

TEST(BorderRows, EachDoesWhatItsLineInTheGoldenFileSays) {
  const std::vector<std::string> lines = all_lines();
  if (const char* wish = std::getenv("SUBLET_GOLDEN"); wish && std::string_view(wish) == "write") {
    std::ofstream file(kGolden);
    for (const auto& one : lines) file << one << "\n";
  }
  std::ifstream file(kGolden);
  std::set<std::string> golden;
  for (std::string one; std::getline(file, one);) golden.insert(one);
  std::set<std::string> now(lines.begin(), lines.end());
  for (const auto& one : golden) EXPECT_TRUE(now.contains(one)) << "no longer so: " << one;
  for (const auto& one : now) EXPECT_TRUE(golden.contains(one)) << "not in the golden file: " << one;
  EXPECT_EQ(now.size(), lines.size());
  EXPECT_GT(now.size(), 200u);
}

// Each row of the table is reached by some case: none is there that nobody has tried.
TEST(BorderRows, EveryRowHasItsCase) {
  std::set<std::string> tried;
  Cases cases;
  for (const HostKind& kind : host_kinds())
    for (const Case& one : cases.of(kind.kind)) tried.insert(one.type + "." + std::string(one.field));
  for (const std::string_view root : from_host_roots())
    for (const Case& one : cases.of(root)) tried.insert(one.type + "." + std::string(one.field));
  for (const TypeRows& type : field_table())
    for (const FieldRow& row : type.rows) {
      if (row.action == Action::copy || row.action == Action::walk) continue;
      for (const std::string_view field : field_names(row))
        EXPECT_TRUE(tried.contains(std::string(type.type) + "." + std::string(field))) << type.type << "." << field;
    }
}

// The table with one row changed, for as long as this lives.
class Mutant {
 public:
  enum class Kind { copied, taken_away };
  Mutant(const Case& one, Kind kind) : plan_(const_cast<TypePlan*>(plan_of(one.type))), kept_(plan_->fields) {
    const auto field = std::ranges::find(plan_->fields, one.field, &FieldPlan::name);
    if (kind == Kind::taken_away)
      plan_->fields.erase(field);
    else
      *field = {field->name, &copied_, nullptr};
  }
  ~Mutant() { plan_->fields = kept_; }
  Mutant(const Mutant&) = delete;
  Mutant& operator=(const Mutant&) = delete;

 private:
  TypePlan* const plan_;
  const std::vector<FieldPlan> kept_;
  const FieldRow copied_ = copy("");
};

struct Missed {
  int rows = 0, seen = 0;
  std::set<std::string> unseen;
};

void judge(Missed& missed, const std::string& name, const std::string& before, const std::string& mutated) {
  ++missed.rows;
  if (before != mutated)
    ++missed.seen;
  else
    missed.unseen.insert(name);
}

// Of these the row is the first of two guards: whatever it lets through is the same in the end, by whom is said.
struct Guarded {
  std::string_view by;
  std::vector<std::string_view> rows;
};
std::vector<Guarded> guarded_twice() {
  return {
      {"statuses are of no kind that the host is given: the tenant's never comes into what is written",
       {"Pod status", "Service status", "PersistentVolumeClaim status", "PersistentVolume status", "Ingress status",
        "PodDisruptionBudget status", "ResourceClaim status", "PodGroup status"}},
      {"what the border writes or removes at the end of every pod: accounts, tokens, what names a node's services",
       {"Pod spec.automountServiceAccountToken", "Pod spec.serviceAccountName", "Pod spec.serviceAccount",
        "Pod spec.enableServiceLinks", "Pod spec.dnsPolicy", "Pod spec.hostname"}},
      {"count_budget(), after all rows: it counts what the tenant's own counted",
       {"PodDisruptionBudget spec.minAvailable", "PodDisruptionBudget spec.maxUnavailable"}},
      {"the border writes it at the end", {"ServiceAccount automountServiceAccountToken"}},
      {"refused for the source that it stands in", {"PersistentVolumeClaim spec.dataSourceRef.namespace"}},
      {"the source that they stand in becomes another as a whole",
       {"Pod spec.volumes[].projected.sources[].serviceAccountToken.audience",
        "Pod spec.volumes[].projected.sources[].serviceAccountToken.expirationSeconds",
        "Pod spec.volumes[].projected.sources[].serviceAccountToken.path",
        "Pod spec.volumes[].ephemeral.volumeClaimTemplate"}},
      {"rows around it; what they make of a container that the tenant has is in node_names_test",
       {"from host: PodStatus initContainerStatuses[].resources.claims",
        "from host: PodStatus initContainerStatuses[].allocatedResourcesStatus[].resources[].resourceID",
        "from host: PodStatus initContainerStatuses[].allocatedResourcesStatus[].resources[].message"}},
  };
}

// What the border makes of every kind's metadata in the end.
constexpr std::string_view kMetadataGuardedTwice[] = {"name", "namespace", "ownerReferences", "finalizers"};

// Of these what the rows alone make tells no more than what crosses in the end: they keep what was sent for what comes
// after the rows (a budget is counted, a node's DNS and a name are written at the end), or what they stand in becomes
// another as a whole.
constexpr std::string_view kUnseenAlone[] = {
    "Pod spec.dnsPolicy",
    "Pod spec.hostname",
    "Pod spec.volumes[].ephemeral.volumeClaimTemplate",
    "Pod spec.volumes[].projected.sources[].serviceAccountToken.audience",
    "Pod spec.volumes[].projected.sources[].serviceAccountToken.expirationSeconds",
    "Pod spec.volumes[].projected.sources[].serviceAccountToken.path",
    "PodDisruptionBudget spec.maxUnavailable",
    "PodDisruptionBudget spec.minAvailable",
};

// Without the name of what the row does: a row is worth what it makes of a value.
TEST(BorderRows, EachIsMissedWhenItIsTakenAwayOrMadeACopy) {
  const TranslateContext context = context_of_rows();
  Missed copied, taken, alone;
  Cases cases;
  for (const HostKind& kind : host_kinds())
    for (const Case& one : cases.of(kind.kind)) {
      const std::string name = std::string(kind.kind) + " " + text_of(one.path);
      const std::string before = sent_to_host(context, kind.kind, one);
      const auto with = [&](Mutant::Kind how) {
        const Mutant mutant(one, how);
        return sent_to_host(context, kind.kind, one);
      };
      const std::string by_rows = made_by_rows(context, kind.kind, one);
      {
        const Mutant mutant(one, Mutant::Kind::copied);
        judge(alone, name, by_rows, made_by_rows(context, kind.kind, one));
      }
      judge(copied, name, before, with(Mutant::Kind::copied));
      judge(taken, name, before, with(Mutant::Kind::taken_away));
      EXPECT_EQ(sent_to_host(context, kind.kind, one), before) << "the table is as it was";
    }
  // One without a row is left out towards the tenant; that it is there at all is the build's to see (field_check.h).
  for (const std::string_view root : from_host_roots())
    for (const Case& one : cases.of(root)) {
      const std::string before = brought_back(root, one);
      const Mutant mutant(one, Mutant::Kind::copied);
      judge(copied, "from host: " + std::string(root) + " " + text_of(one.path), before, brought_back(root, one));
    }
  std::printf(
      "rows made a copy: %d of %d seen in the end, towards the host %d of %d in what the rows alone make; rows taken "
      "away: "
      "%d of %d seen\n",
      copied.seen, copied.rows, alone.seen, alone.rows, taken.seen, taken.rows);
  const std::set<std::string, std::less<>> unseen_alone(std::begin(kUnseenAlone), std::end(kUnseenAlone));
  for (const auto& one : alone.unseen) EXPECT_TRUE(unseen_alone.contains(one)) << "the rows alone do not tell: " << one;
  for (const auto& one : unseen_alone) EXPECT_TRUE(alone.unseen.contains(one)) << "it tells: " << one;
  std::set<std::string> guarded;
  for (const Guarded& group : guarded_twice())
    for (const std::string_view row : group.rows) guarded.emplace(row);
  for (const HostKind& kind : host_kinds())
    for (const std::string_view field : kMetadataGuardedTwice)
      guarded.insert(std::string(kind.kind) + " metadata." + std::string(field));
  for (const auto& one : copied.unseen) EXPECT_TRUE(guarded.contains(one)) << "nobody sees it as a copy: " << one;
  for (const auto& one : guarded)
    EXPECT_TRUE(copied.unseen.contains(one)) << "it is seen, or is no row any more, and needs no line here: " << one;
  EXPECT_GE(copied.seen, 470);
  for (const auto& one : taken.unseen) ADD_FAILURE() << "taken away: " << one;
}

}  // namespace
}  // namespace sublet::syncer
