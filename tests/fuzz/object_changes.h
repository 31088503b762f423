// ObjectChanges: arbitrary objects of the built-in kinds, made of valid ones by changes that know the types.
//
// Fields come and go, lists and maps grow, values become awkward ones (boundary numbers, names that are none, words of
// an enumeration or of another object at the same key), seldom of a wrong type. The same seed gives the same objects.
// One thread at a time.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/document.h"
#include "sublet/schema/table.h"

namespace sublet::fuzz {

class ObjectChanges {
 public:
  explicit ObjectChanges(unsigned seed) : random_(seed) {}

  /// Remembers what a valid object says at each of its keys: words that mean something there.
  void learn(const schema::Value& object);
  /// Changes an object of this type in one to three places; its metadata seldom.
  void change(const schema::Value& object, schema::Type type);
  std::size_t pick(std::size_t below) { return below == 0 ? 0 : random_() % below; }

 private:
  /// A node that can be changed, and what it is: of a field (then `field` says of what), or an object of a type.
  struct Place {
    schema::Value parent, node;
    std::size_t index = 0;  // among the parent's children
    schema::Type type;      // of an object; missing: a scalar, a list, a map
    std::optional<schema::Field> field = std::nullopt;
    bool item = false;  // of the field's list or map
  };
  void collect(const schema::Value& parent, const schema::Value& node, const Place& made, std::vector<Place>& places);
  void change_once(const schema::Value& object, schema::Type type);
  void remove(const Place& place);
  void grow_object(const Place& place);
  void grow_collection(const Place& place);
  void fill(schema::Value into, const schema::Field& field, int depth);
  void fill_item(schema::Value into, const schema::Field& field, int depth);
  void fill_object(schema::Value into, schema::Type type, int depth);
  void fill_scalar(schema::Value into, const schema::Field& field);
  bool chance(unsigned percent) { return random_() % 100 < percent; }

  std::mt19937 random_;
  std::map<std::string, std::vector<std::string>, std::less<>> spoken_;  // by key
};

}  // namespace sublet::fuzz
