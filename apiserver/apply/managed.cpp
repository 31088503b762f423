#include "apiserver/apply/managed.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::size_t kUpdatersMax = 10;
constexpr std::string_view kAncient = "ancient-changes";

std::string json_quoted(std::string_view text) {
  std::string out;
  schema::append_json_string(out, text);
  return out;
}

struct Entry {
  Manager manager;
  std::int64_t seconds = 0;
  std::string_view time;
  const patches::FieldSet* fields = nullptr;

  auto order() const {
    return std::tie(manager.operation, seconds, manager.name, manager.api_version, manager.subresource);
  }
};

std::int64_t entry_seconds(std::string_view text) {
  const auto time = text.empty() ? std::nullopt : parse_time(text);
  if (!time) return 0;
  return std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count();
}

std::int64_t entry_seconds(const Managed& managed, const std::string& identifier) {
  const auto known = managed.times.find(identifier);
  return known == managed.times.end() ? 0 : entry_seconds(known->second);
}

Outcome check_entry(const Value& entry, std::size_t place) {
  const auto operation = entry["operation"].text(), type = entry["fieldsType"].text();
  if (operation != kApply && operation != kUpdate) return bad_request("operation must be `Apply` or `Update`");
  if (entry["apiVersion"].text().empty()) return bad_request("apiVersion must not be empty");
  if (type.empty()) return bad_request("missing fieldsType in managed fields entry " + std::to_string(place));
  if (type != "FieldsV1")
    return bad_request("invalid fieldsType " + json_quoted(type) + " in managed fields entry " + std::to_string(place));
  return {};
}

void write_entry(const Entry& entry, Value out) {
  out.make_object();
  if (!entry.manager.name.empty()) out.put("manager", entry.manager.name);
  out.put("operation", entry.manager.operation);
  out.put("apiVersion", entry.manager.api_version);
  if (!entry.time.empty()) out.put("time", entry.time);
  out.put("fieldsType", "FieldsV1");
  entry.fields->write_fields_v1(out.add_member("fieldsV1"));
  if (!entry.manager.subresource.empty()) out.put("subresource", entry.manager.subresource);
}

}  // namespace

std::string Manager::identifier() const {
  std::string text = "{";
  const auto add = [&text](std::string_view key, std::string_view value) {
    if (value.empty()) return;
    if (text.size() > 1) text += ',';
    text.append("\"").append(key).append("\":");
    schema::append_json_string(text, value);
  };
  add("manager", name);
  add("operation", operation);
  if (operation != kApply) add("apiVersion", api_version);
  add("subresource", subresource);
  return text + "}";
}

Manager Manager::of(const std::string& identifier) {
  const auto document = Document::parse_json(identifier);
  if (!document) return {};
  const auto text = [&document](std::string_view key) { return (*document)[key].string(); };
  return {text("manager"), text("operation"), text("apiVersion"), text("subresource")};
}

std::string Manager::shown() const {
  std::string text = json_quoted(name);
  if (!subresource.empty()) text += " with subresource " + json_quoted(subresource);
  if (operation == kUpdate) text += " using " + api_version;
  return text;
}

namespace {

/// Two and two, so that a body with thousands of managers costs what its size does.
patches::FieldSet union_of(std::vector<patches::FieldSet> sets) {
  for (std::size_t step = 1; step < sets.size(); step *= 2)
    for (std::size_t i = 0; i + step < sets.size(); i += 2 * step) sets[i].unite(std::move(sets[i + step]));
  return std::move(sets.front());
}

}  // namespace

void Managed::cap_updates() {
  std::vector<std::string> updaters;
  for (const auto& [identifier, set] : sets)
    if (!set.applied) updaters.push_back(identifier);
  if (updaters.size() <= kUpdatersMax) return;
  std::ranges::stable_sort(updaters, {}, [this](const std::string& id) { return entry_seconds(*this, id); });
  std::map<std::string, std::string> first_of;                   // by version
  std::map<std::string, std::vector<patches::FieldSet>> united;  // by bucket
  std::size_t count = updaters.size();
  for (const std::string& updater : updaters) {
    if (count <= kUpdatersMax) break;
    const std::string version = sets[updater].version;
    const auto [first, is_first] = first_of.emplace(version, updater);
    if (is_first) continue;
    const std::string bucket = Manager{std::string(kAncient), std::string(kUpdate), version, ""}.identifier();
    if (!sets.contains(bucket)) {
      auto oldest = sets.extract(first->second);
      oldest.key() = bucket;
      sets.insert(std::move(oldest));
    }
    if (updater == bucket) continue;
    united[bucket].push_back(std::move(sets[updater].fields));
    sets.erase(updater);
    --count;
    if (const auto time = times.find(updater); time != times.end()) times[bucket] = time->second;  // the later one
  }
  for (auto& [bucket, fields] : united) sets[bucket].fields.unite(union_of(std::move(fields)));
}

Result<Managed> read_managed(const Value& managed_fields) {
  Managed managed;
  std::size_t place = 0;
  for (const Value entry : managed_fields) {
    if (auto valid = check_entry(entry, place++); !valid) return fail(valid.error());
    auto fields = patches::FieldSet::from_fields_v1(entry["fieldsV1"]);
    if (!fields) return fail(fields.error());
    const Manager manager{entry["manager"].string(), entry["operation"].string(), entry["apiVersion"].string(),
                          entry["subresource"].string()};
    const std::string identifier = manager.identifier();
    managed.known[identifier] = manager;
    managed.sets[identifier] = {std::move(*fields), manager.api_version, manager.operation == kApply};
    if (const auto time = entry["time"].text(); !time.empty()) managed.times[identifier] = time;
  }
  return managed;
}

Document write_managed(const Managed& managed) {
  std::vector<Entry> entries;
  for (const auto& [identifier, set] : managed.sets) {
    const auto known = managed.known.find(identifier);
    Entry entry{known == managed.known.end() ? Manager::of(identifier) : known->second,
                entry_seconds(managed, identifier),
                {},
                &set.fields};
    entry.manager.api_version = set.version;
    if (set.applied) entry.manager.operation = kApply;
    if (const auto time = managed.times.find(identifier); time != managed.times.end()) entry.time = time->second;
    entries.push_back(std::move(entry));
  }
  std::ranges::stable_sort(entries, [](const Entry& a, const Entry& b) { return a.order() < b.order(); });
  Document list;
  if (entries.empty()) return list;
  list.root().make_array();
  for (const Entry& entry : entries) write_entry(entry, list.root().push(false));
  return list;
}

void sort_managed(Value managed_fields) {
  struct Row {
    Value value;
    std::int64_t seconds;
    auto text(std::string_view key) const { return value[key].text(); }
    auto order() const {
      return std::tuple(text("operation"), seconds, text("manager"), text("apiVersion"), text("subresource"));
    }
  };
  std::vector<Row> rows;
  for (const Value entry : managed_fields) rows.push_back({entry, entry_seconds(entry["time"].text())});
  std::ranges::stable_sort(rows, {}, &Row::order);
  std::vector<Value> sorted;
  for (const Row& row : rows) sorted.push_back(row.value);
  managed_fields.reorder(sorted);
}

}  // namespace sublet::apiserver
