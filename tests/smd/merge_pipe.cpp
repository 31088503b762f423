// Our structured merge behind a pipe, for upstream's own tests (tests/smd/run): reads a request per line, asks back
// where upstream's tests bring their own conversions and filters, writes the answer in a line. remote.go is the other
// end, and says what the lines hold.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "sublet/patches/managers.h"

namespace sublet {
namespace {

using patches::FieldSet;
using patches::ManagedSets;
using patches::MergeType;
using patches::TypedObject;
using schema::Document;
using schema::Value;

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "merge_pipe: " << why << '\n';
  std::exit(1);
}

Document read_line() {
  std::string line;
  if (!std::getline(std::cin, line)) std::exit(0);
  auto document = Document::parse_json(line);
  if (!document) give_up(document.error().message + ": " + line);
  return std::move(*document);
}

void write_line(const Document& document) { std::cout << document.to_json() << std::endl; }

/// One schema of upstream's, as our types.
class Schema {
 public:
  explicit Schema(const Value& types) {
    for (const Value type : types) named_[type["name"].string()] = &keep();
    for (const Value type : types) fill(*named_[type["name"].string()], type);
    for (const Override& use : overrides_) *use.target = overridden(*use.base, use.relationship);
  }

  /// Null: no type.
  const MergeType* type_of(const Value& ref) {
    if (!ref.is_object() || ref.empty()) return nullptr;
    const auto known = by_ref_.find(ref.to_json());
    if (known != by_ref_.end()) return known->second;
    const MergeType* type = resolve(ref);
    for (const Override& use : overrides_) *use.target = overridden(*use.base, use.relationship);
    by_ref_.emplace(ref.to_json(), type);
    return type;
  }

 private:
  struct Override {
    MergeType* target;
    const MergeType* base;
    std::string relationship;
  };

  MergeType& keep() { return *types_.emplace_back(std::make_unique<MergeType>()); }

  const MergeType* resolve(const Value& ref) {
    if (!ref.is_object() || ref.empty()) return nullptr;
    if (!ref.has("named")) {
      MergeType& inlined = keep();
      fill(inlined, ref["inlined"]);
      if (ref.has("relationship")) inlined = overridden(inlined, ref["relationship"].string());
      return &inlined;
    }
    const auto known = named_.find(ref["named"].string());
    if (known == named_.end()) return nullptr;
    if (!ref.has("relationship")) return known->second;
    overrides_.push_back({&keep(), known->second, ref["relationship"].string()});
    return overrides_.back().target;
  }

  static MergeType overridden(const MergeType& base, const std::string& relationship) {
    MergeType type;
    type.scalar = base.scalar;
    if (base.list) type.list = std::make_unique<patches::MergeList>(*base.list);
    if (base.map) type.map = std::make_unique<patches::MergeMap>(*base.map);
    if (type.map)
      type.map->atomic = relationship == "atomic";
    else if (type.list)
      type.list->atomic = relationship == "atomic";
    return type;
  }

  void fill(MergeType& type, const Value& atom) {
    constexpr std::string_view kScalars[] = {"", "numeric", "string", "boolean", "untyped"};
    for (std::size_t i = 1; i < std::size(kScalars); ++i)
      if (atom["scalar"].text() == kScalars[i]) type.scalar = static_cast<patches::MergeScalar>(i);
    if (const Value list = atom["list"]) {
      type.list = std::make_unique<patches::MergeList>();
      type.list->atomic = list["relationship"].text() != "associative";
      type.list->item = resolve(list["item"]);
      for (const Value key : list["keys"]) type.list->keys.push_back(key.string());
    }
    if (const Value map = atom["map"]) fill_map(*(type.map = std::make_unique<patches::MergeMap>()), map);
  }

  void fill_map(patches::MergeMap& type, const Value& map) {
    type.atomic = map["relationship"].text() == "atomic";
    const Value element = map["element"];
    type.other = resolve(element);
    for (const Value field : map["fields"])
      type.fields.push_back(
          {field["name"].string(), resolve(field["type"]), field.has("default") ? field["default"].to_json() : ""});
    std::sort(type.fields.begin(), type.fields.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    type.deduced = map["fields"].empty() && (element["named"].text() == "__untyped_deduced_" ||
                                             element["inlined"]["scalar"].text() == "untyped");
  }

  std::vector<std::unique_ptr<MergeType>> types_;
  std::map<std::string, MergeType*> named_;
  std::map<std::string, const MergeType*> by_ref_;
  std::vector<Override> overrides_;
};

class Pipe final : public patches::Versions {
 public:
  void serve() {
    for (;;) {
      const Document request = read_line();
      if (request["op"].text() == "schema")
        schemas_.emplace(request["id"].string(), Schema(request["types"]));
      else
        answer(request.root());
    }
  }

  Result<TypedObject> convert(const TypedObject& object, const std::string& version) const override {
    auto question = Document::object();
    Value asked = question.root().object("convert");
    describe(object, asked.object("object"));
    asked.put("version", version);
    write_line(question);
    auto reply = std::make_shared<Document>(next_reply());
    const Value root = reply->root();
    if (root.has("missing")) return fail(Reason::not_found, "no such version");
    if (root.has("error")) return internal_error(root["error"].string());
    TypedObject converted = typed(root["object"], version);
    converted.holder = reply;
    return converted;
  }

  void filter(FieldSet& fields, const std::string& version) const override {
    auto question = Document::object();
    Value asked = question.root().object("filter");
    fields.write_fields_v1(asked.object("fields"));
    asked.put("version", version);
    write_line(question);
    fields = fields_in(next_reply()["fields"]);
  }

 private:
  /// Schemas may come before any answer.
  Document next_reply() const {
    for (;;) {
      Document reply = read_line();
      if (reply["op"].text() != "schema") return reply;
      schemas_.emplace(reply["id"].string(), Schema(reply["types"]));
    }
  }

  TypedObject typed(const Value& object, std::string version) const {
    const auto found = schemas_.find(object["schema"].string());
    if (found == schemas_.end()) give_up("an unknown schema");
    const MergeType* type = found->second.type_of(object["type"]);
    if (!type) give_up("an unknown type: " + object["type"].to_json());
    refs_[type] = {found->first, object["type"].to_json()};
    return {object["value"], type, std::move(version), nullptr};
  }

  void describe(const TypedObject& object, Value target) const {
    const auto& [id, ref] = refs_.at(object.type);
    target.put("schema", id);
    const auto type = Document::parse_json(ref);
    target.put("type", type->root());
    target.put("value", object.value);
  }

  static FieldSet fields_in(const Value& fields) {
    auto set = FieldSet::from_fields_v1(fields);
    if (!set) give_up(set.error().message + ": " + fields.to_json());
    return std::move(*set);
  }

  void answer(const Value& request) {
    ManagedSets managers;
    for (const Value entry : request["managers"])
      managers[std::string(entry.key())] = {fields_in(entry["fields"]), entry["version"].string(),
                                            entry["applied"].boolean()};
    const std::string version = request["version"].string(), manager = request["manager"].string();
    const TypedObject live = typed(request["live"], version), object = typed(request["object"], version);
    auto out = Document::object();
    if (request["op"].text() == "update") {
      auto updated = update_managers(*this, live, object, std::move(managers), manager);
      if (updated)
        write_managers(*updated, out.root());
      else
        out.root().put("error", updated.error().message);
      return write_line(out);
    }
    auto applied = apply_managed(*this, live, object, std::move(managers), manager, request["force"].boolean());
    if (applied) {
      write_managers(applied->managers, out.root());
      if (applied->object) describe(*applied->object, out.root().object("object"));
    } else if (applied.error().conflicts.empty()) {
      out.root().put("error", applied.error().message);
    } else {
      write_conflicts(applied.error().conflicts, out.root());
    }
    write_line(out);
  }

  static void write_managers(const ManagedSets& managers, Value out) {
    Value list = out.object("managers");
    for (const auto& [name, set] : managers) {
      Value entry = list.object(name);
      set.fields.write_fields_v1(entry.object("fields"));
      entry.put("version", set.version);
      entry.put("applied", set.applied);
    }
  }

  static void write_conflicts(const std::vector<patches::Conflict>& conflicts, Value out) {
    std::map<std::string, FieldSet> sets;
    for (const auto& conflict : conflicts) sets[conflict.manager].insert(conflict.path);
    Value list = out.object("conflicts");
    for (const auto& [name, fields] : sets) fields.write_fields_v1(list.object(name));
  }

  mutable std::map<std::string, Schema> schemas_;
  mutable std::map<const MergeType*, std::pair<std::string, std::string>> refs_;
};

}  // namespace
}  // namespace sublet

int main() { sublet::Pipe().serve(); }
