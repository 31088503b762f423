// Source: a template's YAML as a tree that remembers where everything stands, and the list of its problems.
//
// Scalars mean what kubectl's YAML reader makes of them, but only true and false are booleans. Hostile input is
// bounded: nesting, number of nodes (aliases are expanded by copying, within the same number).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::patches {

struct Mark {
  int line = 1;
  int column = 1;
};

struct YamlNode {
  schema::NodeKind kind = schema::NodeKind::null;
  Mark mark;
  bool quoted = false;  // in quotes: the text starts one character after the mark
  std::string text;     // of a scalar, as written
  std::int64_t integer = 0;
  double floating = 0;
  bool boolean = false;
  std::string key;  // when it is the value of a map
  Mark key_mark;
  std::vector<YamlNode> children;

  bool is_map() const { return kind == schema::NodeKind::object; }
  bool is_list() const { return kind == schema::NodeKind::array; }
  bool is_string() const { return kind == schema::NodeKind::string; }
  bool is_null() const { return kind == schema::NodeKind::null; }
  bool is_boolean() const { return kind == schema::NodeKind::boolean; }
  bool is_scalar() const { return !is_map() && !is_list(); }
  const YamlNode* find(std::string_view name) const;
  /// "a string", "a map" ... for messages.
  std::string_view kind_text() const;
};

/// What the node says, without its places.
schema::Document document_of(const YamlNode& node);

/// One thing wrong in a template.
struct TemplateProblem {
  Mark mark;
  std::string key;  // path of the key: "patches[0].when"
  std::string message;
};

/// Collects all problems of one file.
class Problems {
 public:
  Problems(std::string file_name, std::string_view text) : file_name_(std::move(file_name)), text_(text) {}
  void add(Mark mark, std::string key, std::string message) {
    list_.push_back({mark, std::move(key), std::move(message)});
  }
  /// A problem inside a scalar's text, e.g. in an expression: the mark is moved to the byte `offset` of it.
  void add_inside(const YamlNode& scalar, std::size_t offset, std::string key, std::string message);
  /// "t.yaml:2:3: sync.fromHst: unknown key", in the order of the file.
  std::vector<std::string> lines() const;
  bool empty() const { return list_.empty(); }
  std::size_t size() const { return list_.size(); }
  /// `file:line:column: key: message`, one per line in order of their places; one cause each.
  Status status() const;

 private:
  std::vector<TemplateProblem> sorted() const;
  std::string line(const TemplateProblem& problem) const;

  std::string file_name_;
  std::string_view text_;  // the whole file
  std::vector<TemplateProblem> list_;
};

/// The tree of one YAML document. False: not readable; the reason is in `problems`.
bool read_yaml(std::string_view text, YamlNode& root, Problems& problems);

}  // namespace sublet::patches
