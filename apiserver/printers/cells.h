// Cells: shared code of all printers: a writer of cells, and the texts that kubectl shows for lists, selectors,
// containers and times. Pure; threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/printers/printer.h"
#include "apiserver/request/members.h"
#include "sublet/base/text.h"

namespace sublet::apiserver {

inline constexpr std::string_view kNone = "<none>";
inline constexpr std::string_view kUnset = "<unset>";
inline constexpr std::string_view kUnknown = "<unknown>";

inline constexpr Column kNameColumn{"Name", "string", "name", "Name of the object, unique in its namespace"};
inline constexpr Column kAgeColumn{"Age", "string", "", "Time since the object was created"};
inline constexpr Column kNameAndAgeColumns[] = {kNameColumn, kAgeColumn};
inline constexpr Column kContainersColumn{"Containers", "string", "", "Names of the template's containers", 1};
inline constexpr Column kImagesColumn{"Images", "string", "", "Images of the template's containers", 1};
inline constexpr Column kSelectorColumn{"Selector", "string", "", "Labels of the pods that belong to it", 1};

/// Appends the cells of one row, one call each.
class Cells {
 public:
  Cells(const schema::Value& object, WallTime now, schema::Value row) : object_(object), now_(now), row_(row) {}

  Cells& text(std::string_view cell) {
    row_.push(cell);
    return *this;
  }
  Cells& number(std::int64_t cell) {
    row_.push(cell);
    return *this;
  }
  Cells& flag(bool cell) {
    row_.push(cell);
    return *this;
  }
  /// The text, or the placeholder of an empty one.
  Cells& text_or(std::string_view cell, std::string_view otherwise) { return text(cell.empty() ? otherwise : cell); }
  Cells& name() { return text(object_["metadata"]["name"].text()); }
  Cells& age() { return text(age_of(object_["metadata"]["creationTimestamp"].text(), now_)); }
  /// Time since any timestamp of the object.
  Cells& since(const schema::Value& timestamp) { return text(age_of(timestamp.text(), now_)); }
  /// Names and images of a list of containers: two cells.
  Cells& containers(const schema::Value& list);

 private:
  schema::Value object_;
  WallTime now_;
  schema::Value row_;
};

/// The cells of kNameAndAgeColumns.
void name_and_age_cells(const schema::Value& object, WallTime now, schema::Value row);

/// The first parts, and how many more there are: "a,b,c + 2 more...".
std::string clipped(const std::vector<std::string>& parts, std::size_t most, std::string_view separator = ",");
/// "a=1,b=2" of a map of labels, by key; "<none>" for an empty one.
std::string labels_text(const schema::Value& labels);
/// The same, but "<none>" for nothing to show.
std::string selector_or_none(const schema::Value& selector);
/// An IntOrString, or a number or text of any kind.
std::string scalar_text(const schema::Value& value);
/// A map's entry, without the dots of the key being taken for a path.
schema::Value annotation(const schema::Value& object, std::string_view key);

}  // namespace sublet::apiserver
