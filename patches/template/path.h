// Path: where in an object an effect works.
//
//   spec.runtimeClassName                     members, created on the way when the effect writes
//   metadata.labels[kai.scheduler/queue]      a key with dots and slashes; quotes as needed: ['a]b']
//   metadata.labels[${params.label}]          a key that is computed
//   spec.containers[*].image                  every item of a list, every entry of a map
//   spec.containers[name=web].image           items whose member has that value
//   spec.containers[?has(item.ports)].image   items for which the expression holds (item; key or index as key)
//   spec.containers[0]                        one item by index
//   spec.{containers,initContainers}[*]       alternatives
#pragma once

#include <string>
#include <vector>

#include "patches/template/scope.h"
#include "patches/template/shape.h"
#include "patches/template/value_form.h"

namespace sublet::patches {

/// A place that a path found. `current` is missing when nothing stands there (yet).
struct Target {
  schema::Value grandparent;  // of `parent`; missing at the root
  schema::Value parent;
  std::string key;  // of the place, when the parent is a map
  schema::Value current;
  Shape shape;
  PathFocus focus;
};

class Path {
 public:
  /// Parses a path with all its alternatives and checks it against the shape of each kind.
  static std::vector<Path> parse(const YamlNode& scalar, const std::vector<std::string>& kinds,
                                 const cel::Environment& environment, const std::string& key, Problems& problems);

  /// All places; `create` makes missing maps on the way. An error when something on the way is neither a map nor a
  /// list.
  Result<std::vector<Target>> find(schema::Value object, bool create, ObjectScope& scope, std::string_view kind) const;

  /// The path as it was written, alternatives resolved.
  const std::string& text() const { return text_; }
  bool ends_with_member() const { return !segments_.empty() && segments_.back().type == Segment::Type::member; }
  /// Shape of the place for a kind.
  Shape shape(std::string_view kind) const;
  /// Does it consist of plain, fixed members only?
  bool plain() const;
  /// The members of a plain path, from the root.
  std::vector<std::string_view> members() const;
  /// The place of a plain path; missing when it is not there.
  schema::Value read(const schema::Value& object) const;

 private:
  struct Segment {
    enum class Type : std::uint8_t { member, index, each, match, filter } type = Type::member;
    std::size_t offset = 0;  // in the scalar
    ValueForm name;          // member: key; match: value
    std::string field;       // match
    std::size_t index = 0;
    std::vector<cel::Program> filter;  // one for Type::filter
  };
  class Parser;
  class Finder;

  std::string text_;
  std::vector<Segment> segments_;
};

}  // namespace sublet::patches
