#include "sublet/schema/registry.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <tuple>

#include "schema/builtin_table.h"
#include "schema/table_data.h"

namespace sublet::schema {
namespace {

using VersionedName = std::tuple<std::string_view, std::string_view, std::string_view>;
VersionedName resource_key(const ResourceFacts& facts) { return {facts.resource, facts.group, facts.version}; }
VersionedName kind_key(const ResourceFacts& facts) { return {facts.kind, facts.group, facts.version}; }

ResourceFacts facts_of(const TableData& data, const ResourceRow& from, std::span<const SubresourceFacts> subresources) {
  ResourceFacts made;
  made.group = data.text(from.group);
  made.version = data.text(from.version);
  made.resource = data.text(from.resource);
  made.kind = data.text(from.kind);
  made.list_kind = data.text(from.list_kind);
  made.singular = data.text(from.singular);
  made.namespaced = from.namespaced != 0;
  made.served = from.served != 0;
  made.delete_returns_object = from.delete_returns_object != 0;
  made.custom = data.custom;
  made.type = data.type(from.type);
  made.verbs = data.list(from.verbs);
  made.short_names = data.list(from.short_names);
  made.categories = data.list(from.categories);
  made.subresources = subresources.subspan(from.first_subresource, from.subresource_count);
  made.storage_version = data.text(from.storage_version);
  made.storage_group = data.text(from.storage_group);
  made.storage_hash = data.text(from.storage_hash);
  made.has_status = std::ranges::find(made.subresources, std::string_view("status"), &SubresourceFacts::name) !=
                    made.subresources.end();
  return made;
}

const ResourceFacts* search(const std::vector<ResourceFacts>& all, const std::vector<std::uint16_t>& order,
                            const VersionedName& wanted, VersionedName (*key_of)(const ResourceFacts&)) {
  const auto found = std::ranges::lower_bound(order, wanted, {}, [&](auto place) { return key_of(all[place]); });
  return found == order.end() || key_of(all[*found]) != wanted ? nullptr : &all[*found];
}

void append_new(std::vector<std::string_view>& out, const StringList& more) {
  for (const std::string_view text : more)
    if (std::ranges::find(out, text) == out.end()) out.push_back(text);
}

// The built-in table is never destroyed.
std::shared_ptr<const Table> builtin_pointer() { return {std::shared_ptr<const Table>(), &builtin_table()}; }

}  // namespace

std::size_t detail::next_part_slot() {
  static std::atomic<std::size_t> next{0};
  const std::size_t slot = next.fetch_add(1);
  if (slot >= Registry::kPartsMax) std::abort();  // rooms are written, not loaded: raise kPartsMax
  return slot;
}

const std::shared_ptr<const Registry>& Registry::builtin() {
  // Never destroyed: other static objects may still read it at exit.
  static const auto* const made = new std::shared_ptr<const Registry>([] {
    auto registry = std::shared_ptr<Registry>(new Registry);
    registry->add_table(builtin_pointer());
    registry->sort_indexes();
    return registry;
  }());
  return *made;
}

Result<std::shared_ptr<const Registry>> Registry::with(std::vector<KindSet> sets,
                                                       std::vector<std::string> also_served) {
  auto registry = std::shared_ptr<Registry>(new Registry);
  registry->add_table(builtin_pointer());
  for (std::string& group_version : also_served)
    if (auto served = registry->serve_too(std::move(group_version)); !served) return fail(served.error());
  const std::size_t builtin_groups = registry->groups_.size();
  for (KindSet& set : sets) {
    registry->add_table(std::move(set.table_));
    std::ranges::move(set.given_, std::back_inserter(registry->given_));
  }
  // Behind the built-in ones by name, as upstream's priorities have it.
  std::ranges::sort(registry->groups_.begin() + static_cast<std::ptrdiff_t>(builtin_groups), registry->groups_.end(),
                    {}, &GroupFacts::name);
  for (std::size_t i = 0; i < registry->groups_.size(); ++i) registry->groups_[i].priority = static_cast<int>(i);
  registry->sort_indexes();
  std::ranges::stable_sort(registry->given_, {}, given_key);
  if (auto unique = registry->check_unique(); !unique) return fail(unique.error());
  return std::shared_ptr<const Registry>(std::move(registry));
}

Registry::~Registry() {
  for (auto& slot : parts_) delete slot.load(std::memory_order_acquire);
}

void Registry::add_table(std::shared_ptr<const Table> table) {
  add_groups(*table);
  add_resources(*table);
  tables_.push_back(std::move(table));
}

void Registry::add_groups(const Table& table) {
  const TableData& data = table.data();
  for (const GroupRow& from : data.groups) {
    auto known = std::ranges::find(groups_, data.text(from.name), &GroupFacts::name);
    if (known == groups_.end()) {
      groups_.push_back({data.text(from.name), {}, {}, static_cast<int>(groups_.size())});
      known = groups_.end() - 1;
    }
    append_new(known->versions, data.list(from.versions));
    append_new(known->served, data.list(from.served));
  }
}

void Registry::add_resources(const Table& table) {
  const TableData& data = table.data();
  auto subresources = std::make_unique<std::vector<SubresourceFacts>>();
  for (const SubresourceRow& from : data.subresources)
    subresources->push_back({data.text(from.name), data.text(from.group), data.text(from.version), data.text(from.kind),
                             data.list(from.verbs)});
  for (const ResourceRow& from : data.resources) resources_.push_back(facts_of(data, from, *subresources));
  subresources_.push_back(std::move(subresources));
}

Outcome Registry::serve_too(std::string group_version) {
  const std::size_t slash = group_version.find('/');
  const std::string_view group = std::string_view(group_version).substr(0, slash);
  std::string_view version;
  for (ResourceFacts& facts : resources_) {
    if (facts.group != group || slash == std::string::npos || facts.version != group_version.substr(slash + 1))
      continue;
    facts.served = true;
    version = facts.version;
  }
  const auto known = std::ranges::find(groups_, group, &GroupFacts::name);
  if (version.empty() || known == groups_.end())
    return bad_request("there is no group version " + group_version + " among the built-in kinds");
  std::vector<std::string_view> served;  // in the order of the versions: the first is the preferred one
  for (const std::string_view one : known->versions)
    if (one == version || std::ranges::find(known->served, one) != known->served.end()) served.push_back(one);
  known->served = std::move(served);
  also_served_.push_back(std::move(group_version));
  return {};
}

void Registry::sort_indexes() {
  for (std::size_t i = 0; i < resources_.size(); ++i) by_resource_.push_back(static_cast<std::uint16_t>(i));
  by_kind_ = by_resource_;
  std::ranges::sort(by_resource_, {}, [this](auto place) { return resource_key(resources_[place]); });
  std::ranges::sort(by_kind_, {}, [this](auto place) { return kind_key(resources_[place]); });
}

Outcome Registry::check_unique() const {
  const auto check = [this](const std::vector<std::uint16_t>& order,
                            VersionedName (*key_of)(const ResourceFacts&)) -> Outcome {
    for (std::size_t i = 1; i < order.size(); ++i) {
      const VersionedName key = key_of(resources_[order[i]]);
      if (key != key_of(resources_[order[i - 1]])) continue;
      return bad_request("two kinds are called " + std::string(std::get<0>(key)) + " in " +
                         std::string(std::get<1>(key)) + "/" + std::string(std::get<2>(key)));
    }
    return {};
  };
  if (auto unique = check(by_resource_, resource_key); !unique) return unique;
  return check(by_kind_, kind_key);
}

const void* Registry::find_given(std::size_t column, const ResourceFacts& facts) const {
  if (!facts.custom) return nullptr;
  const GivenKey wanted{column, facts.resource, facts.group};
  for (auto given = std::ranges::lower_bound(given_, wanted, {}, given_key);
       given != given_.end() && given_key(*given) == wanted; ++given)
    if (given->version.empty() || given->version == facts.version) return given->entry.get();
  return nullptr;
}

Registry::GivenKey Registry::given_key(const KindSet::Given& given) {
  return {given.column, given.resource, given.group};
}

std::string_view Registry::release() const { return tables_.front()->release(); }

const ResourceFacts* Registry::find_resource(std::string_view group, std::string_view version,
                                             std::string_view resource) const {
  return search(resources_, by_resource_, {resource, group, version}, resource_key);
}

const ResourceFacts* Registry::find_resource_of_kind(std::string_view group, std::string_view version,
                                                     std::string_view kind) const {
  return search(resources_, by_kind_, {kind, group, version}, kind_key);
}

const ResourceFacts& Registry::storage_of(const ResourceFacts& facts) const {
  if (facts.group == facts.storage_group && facts.version == facts.storage_version) return facts;
  const ResourceFacts* stored = find_resource(facts.storage_group, facts.storage_version, facts.resource);
  return stored ? *stored : facts;
}

Type Registry::find_kind(std::string_view group, std::string_view version, std::string_view kind) const {
  for (const auto& table : tables_)
    if (const Type found = table->data().find_kind(group, version, kind)) return found;
  return tables_.front()->data().find_kind("*", "*", kind);
}

Type Registry::find_type(std::string_view definition_name) const {
  for (const auto& table : tables_)
    if (const Type found = table->data().find_type(definition_name)) return found;
  return {};
}

std::size_t Registry::kind_count() const {
  std::size_t count = 0;
  for (const auto& table : tables_) count += table->kind_count();
  return count;
}

KindFacts Registry::kind_at(std::size_t i) const {
  for (const auto& table : tables_) {
    if (i < table->kind_count()) return table->kind_at(i);
    i -= table->kind_count();
  }
  assert(false);
  return {};
}

std::size_t Registry::place_of(const ResourceFacts& facts) const {
  const auto place = static_cast<std::size_t>(&facts - resources_.data());
  assert(place < resources_.size());
  return place;
}

}  // namespace sublet::schema
