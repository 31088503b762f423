#include "apiserver/apply/field_manager.h"

#include "apiserver/apply/kind_versions.h"
#include "apiserver/apply/last_applied.h"
#include "apiserver/request/object_key.h"
#include "sublet/base/at_most_every.h"
#include "sublet/base/log.h"
#include "sublet/patches/overlay.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using patches::FieldSet;
using patches::PathElement;
using patches::TypedObject;
using schema::Document;
using schema::Value;

constexpr std::size_t kManagerBytesMax = 128;
constexpr std::string_view kBeforeFirstApply = "before-first-apply";
const std::string kSelf = "current-operation";

const FieldSet& never_tracked() {
  static const FieldSet fields = [] {
    FieldSet made;
    for (const std::string_view name : {"apiVersion", "kind", "metadata"})
      made.insert(std::vector{PathElement::field(name)});
    for (const std::string_view name : {"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName",
                                        "generation", "managedFields", "resourceVersion"})
      made.insert(std::vector{PathElement::field("metadata"), PathElement::field(name)});
    return made;
  }();
  return fields;
}

void strip(patches::ManagedSets& sets, const std::string& identifier) {
  const auto own = sets.find(identifier);
  if (own == sets.end()) return;
  own->second.fields.subtract(never_tracked());
  if (own->second.fields.empty()) sets.erase(own);
}

/// `managedFields: []` and `[{}]` remove all managers.
bool is_reset(const Value& managed_fields) {
  if (!managed_fields.is_array()) return false;
  return managed_fields.empty() || (managed_fields.size() == 1 && managed_fields.at(0).empty());
}

/// An error that upstream does not name a reason for.
tl::unexpected<Status> plain_failure(std::string message) {
  Status status;
  status.message = std::move(message);
  status.code = 500;
  return fail(std::move(status));
}

tl::unexpected<Status> conflict_failure(const std::vector<patches::Conflict>& conflicts) {
  Status status;
  status.reason = Reason::conflict;
  for (const auto& conflict : conflicts)
    status.causes.push_back(
        {"FieldManagerConflict", "conflict with " + Manager::of(conflict.manager).shown(), text_of(conflict.path)});
  if (conflicts.size() == 1) {
    status.message = "Apply failed with 1 conflict: " + status.causes[0].message + ": " + status.causes[0].field;
    return fail(std::move(status));
  }
  status.message = "Apply failed with " + std::to_string(conflicts.size()) + " conflicts: ";
  const std::string* last = nullptr;
  for (const auto& conflict : conflicts) {
    if (!last || *last != conflict.manager)
      status.message.append(last ? "\n" : "").append("conflicts with " + Manager::of(conflict.manager).shown() + ":");
    last = &conflict.manager;
    status.message += "\n- " + text_of(conflict.path);
  }
  return fail(std::move(status));
}

std::string version_and_kind(std::string_view version, std::string_view kind) {
  return (version.find('/') == std::string_view::npos ? "/" + std::string(version) : std::string(version)) +
         ", Kind=" + std::string(kind);
}

/// "default/x; apps/v1, Kind=Deployment".
std::string object_text(const Value& object) {
  const Value meta = object["metadata"];
  return meta["namespace"].string() + "/" + meta["name"].string() + "; " +
         version_and_kind(object["apiVersion"].text(), object["kind"].text());
}

/// A writer can cause it again and again (with a conversion webhook that fails), so it is said once a second.
void say_dropped(const ManagedEndpoint& endpoint, const Value& meta, const Status& why, WallTime now) {
  static AtMostEvery lines{std::chrono::seconds(1)};
  const auto held_back = lines.pass(now);
  if (!held_back) return;
  log::warning("managed_fields.dropped", {{"kind", endpoint.kind},
                                          {"namespace", meta["namespace"].text()},
                                          {"name", meta["name"].text()},
                                          {"why", why.message},
                                          {"not_said", *held_back}});
}

}  // namespace

/// One write: what all of its steps need.
class FieldManager::Work {
 public:
  Work(const ManagedEndpoint& endpoint, WallTime now) : endpoint_(endpoint), versions_(endpoint), now_(now) {}

  /// `managed` after an update by `name`.
  Outcome track(const TypedObject& live, const TypedObject& object, Managed& managed, std::string_view name) const {
    auto sets = patches::update_managers(versions_, live, object, std::move(managed.sets), kSelf);
    if (!sets) return fail(sets.error());
    managed.sets = std::move(*sets);
    strip(managed.sets, kSelf);
    if (auto changed = managed.sets.extract(kSelf)) {
      const Manager writer = manager(name, kUpdate);
      const std::string identifier = writer.identifier();
      managed.known[identifier] = writer;
      auto& own = managed.sets[identifier];
      changed.mapped().fields.unite(std::move(own.fields));
      own = std::move(changed.mapped());
      managed.times[identifier] = format_time(now_);
    }
    managed.cap_updates();
    return {};
  }

  Outcome check_config(const Value& config) const {
    const std::string given = version_and_kind(config["apiVersion"].text(), config["kind"].text());
    if (given != version_and_kind(api_version(endpoint_.group, endpoint_.version), endpoint_.kind))
      return bad_request("invalid object type: " + given);
    if (config["metadata"]["managedFields"].is_array()) return bad_request("metadata.managedFields must be nil");
    return {};
  }

  /// What most applies are, done in place (patches::Overlay); false: it is not, and nothing has changed.
  Result<bool> apply_over(Value live, const Value& config, std::string_view name) const {
    if (!endpoint_.facts || config["metadata"]["managedFields"].is_array()) return false;
    const TypedObject typed_live = versions_.own(live);
    const auto sets = sets_of(live, manager(name, kApply), *typed_live.type);
    if (!sets) return false;
    const auto overlay = patches::Overlay::of(live, config, *typed_live.type, sets->of_fields);
    if (!overlay) return false;
    // Of its own kinds the server has stored nothing else.
    if (endpoint_.facts->custom && !check_type(live, *typed_live.type, patches::Duplicates::allowed).empty())
      return false;
    overlay->write();
    if (overlay->changes()) {
      Value(sets->own).put("time", format_time(now_));
      sort_managed(live["metadata"]["managedFields"]);
    }
    if (name == kKubectl) update_last_applied(live["metadata"], config);
    if (auto fits = conform(live, config); !fits) return fail(fits.error());
    return true;
  }

  Result<Document> apply(const Value& live, const Value& config, std::string_view name, bool force) const {
    const TypedObject typed_live = live ? versions_.own(live) : with_kind(versions_.empty());
    auto managed = read_managed(typed_live.value["metadata"]["managedFields"]);
    if (!managed) return plain_failure("failed to decode managed fields: " + managed.error().message);
    if (managed->empty())
      if (auto tracked = track(versions_.empty(), typed_live, *managed, kBeforeFirstApply); !tracked)
        return plain_failure("failed to create manager for existing fields: " + tracked.error().message);
    const TypedObject typed_config = versions_.own(config);
    if (auto fits = check_types(typed_live, typed_config); !fits) return fail(fits.error());
    const std::string identifier = manager(name, kApply).identifier();
    auto applied = merge(typed_live, typed_config, *managed, identifier, name, force);
    if (!applied) return fail(applied.error());
    managed->sets = std::move(applied->managers);
    strip(managed->sets, identifier);
    if (applied->object) managed->times[identifier] = format_time(now_);
    return finish(applied->object ? applied->object->value : typed_live.value, config, *managed, name);
  }

 private:
  struct Sets {
    Value own;  // its entry
    patches::OverlaySets of_fields;
  };

  /// Of an object that this manager has applied before, and others in this version alone.
  std::optional<Sets> sets_of(const Value& live, const Manager& writer, const patches::MergeType& type) const {
    Sets sets{{}, {.last = {}, .others = {}, .untracked = &never_tracked(), .not_ours = &versions_.reset()}};
    for (const Value entry : live["metadata"]["managedFields"]) {
      if (entry["apiVersion"].text() != writer.api_version) return std::nullopt;
      const Value fields = entry["fieldsV1"];
      const bool own = entry["operation"].text() == kApply && entry["manager"].text() == writer.name &&
                       entry["subresource"].text() == writer.subresource;
      if (own) {
        sets.own = entry;
        sets.of_fields.last = fields;
      } else {
        if (patches::is_reconcilable(fields, type)) return std::nullopt;
        sets.of_fields.others.push_back(fields);
      }
    }
    if (!sets.own) return std::nullopt;
    return sets;
  }

  // What the schema of a custom kind does not allow was refused, and a null in the configuration is for validation to
  // refuse.
  Outcome conform(Value object, const Value& config) const {
    if (auto fits = schema::conform(object, endpoint_.type, nullptr, schema::Strangers::kept); !fits) {
      const auto& problem = fits.error().message;
      return plain_failure("failed to convert new object (" + object_text(config) +
                           ") to proper version: unable to convert unstructured object to " +
                           version_and_kind(config["apiVersion"].text(), config["kind"].text()) + ": " +
                           (problem.starts_with("illegal base64") ? "error decoding from json: " : "") + problem);
    }
    return {};
  }

  Manager manager(std::string_view name, std::string_view operation) const {
    return {std::string(name.empty() ? "unknown" : name), std::string(operation),
            api_version(endpoint_.group, endpoint_.version), std::string(endpoint_.subresource)};
  }

  Outcome check_types(const TypedObject& live, const TypedObject& config) const {
    const auto errors = check_type(config.value, *config.type, patches::Duplicates::refused);
    if (!errors.empty())
      return plain_failure("failed to create typed patch object (" + object_text(config.value) +
                           "): " + text_of(errors));
    const auto live_errors = check_type(live.value, *live.type, patches::Duplicates::allowed);
    if (live_errors.empty()) return {};
    return plain_failure("failed to create typed live object (" + object_text(live.value) +
                         "): " + text_of(live_errors));
  }

  TypedObject with_kind(TypedObject object) const {
    auto document = std::make_shared<Document>(Document::copy_of(object.value));
    document->root().put("kind", endpoint_.kind);
    document->root().put("apiVersion", api_version(endpoint_.group, endpoint_.version));
    object.value = document->root();
    object.holder = std::move(document);
    return object;
  }

  /// kubectl takes over without conflict what it had applied from its own side before.
  Result<patches::Applied> merge(const TypedObject& live, const TypedObject& config, const Managed& managed,
                                 const std::string& identifier, std::string_view name, bool force) const {
    auto applied = apply_managed(versions_, live, config, managed.sets, identifier, force);
    if (applied) return std::move(*applied);
    if (applied.error().conflicts.empty()) return plain_failure(applied.error().message);
    auto conflicts = std::move(applied.error().conflicts);
    if (name == kKubectl)
      if (const auto allowed = last_applied_fields(live)) {
        std::erase_if(conflicts, [&allowed](const auto& conflict) { return allowed->has(conflict.path); });
        if (conflicts.empty()) applied = apply_managed(versions_, live, config, managed.sets, identifier, true);
        if (applied) return std::move(*applied);
      }
    return conflict_failure(conflicts);
  }

  Result<Document> finish(const Value& object, const Value& config, const Managed& managed,
                          std::string_view name) const {
    Document made = Document::copy_of(object);
    Value meta = made.root().object("metadata");
    if (name == kKubectl) update_last_applied(meta, config);
    if (auto fits = conform(made.root(), config); !fits) return fail(fits.error());
    const Document entries = write_managed(managed);
    if (entries.root().is_null())
      meta.erase("managedFields");
    else
      meta.put("managedFields", entries.root());
    return made;
  }

  const ManagedEndpoint& endpoint_;
  const KindVersions versions_;
  const WallTime now_;
  friend class FieldManager;
};

FieldManager::FieldManager(const ManagedEndpoint& endpoint) : endpoint_(endpoint) {}

Document FieldManager::update(const Value& live, Value object, std::string_view manager, WallTime now) const {
  const Work work(endpoint_, now);
  Value meta = object.object("metadata");
  const Value sent = meta["managedFields"], stored = live["metadata"]["managedFields"];
  Managed managed;
  // What is sent counts on the main endpoint; who knows nothing of managedFields does not clear them.
  if (endpoint_.subresource.empty() && !is_reset(sent))
    if (auto read = read_managed(sent)) managed = std::move(*read);
  const bool from_live = !endpoint_.subresource.empty() || !is_reset(sent);
  if (managed.empty() && from_live)
    if (auto read = read_managed(stored)) managed = std::move(*read);
  meta.erase("managedFields");
  if (managed.empty() && live) return {};
  const TypedObject before = live ? work.versions_.own(live) : work.versions_.empty();
  if (auto tracked = work.track(before, work.versions_.own(object), managed, manager); !tracked) {
    say_dropped(endpoint_, meta, tracked.error(), now);
    return {};
  }
  return write_managed(managed);
}

Result<Document> FieldManager::apply(Document live, const Value& config, std::string_view manager, bool force,
                                     WallTime now) const {
  const Work work(endpoint_, now);
  if (auto valid = work.check_config(config); !valid) return fail(valid.error());
  auto applied = work.apply_over(live.root(), config, manager);
  if (!applied) return fail(applied.error());
  if (*applied) return live;
  return work.apply(live.root(), config, manager, force);
}

Result<Document> FieldManager::apply_by_sets(const Value& live, const Value& config, std::string_view manager,
                                             bool force, WallTime now) const {
  const Work work(endpoint_, now);
  if (auto valid = work.check_config(config); !valid) return fail(valid.error());
  return work.apply(live, config, manager, force);
}

std::string manager_name(std::string_view asked, std::string_view user_agent) {
  if (!asked.empty()) return std::string(asked);
  std::string name;
  for (const char c : user_agent.substr(0, user_agent.find('/'))) {
    if (name.size() == kManagerBytesMax) break;
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) name += c;
  }
  return name;
}

}  // namespace sublet::apiserver
