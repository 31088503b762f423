// ValueForm: a value in a template, fixed or with `${expression}` in it.
//
// A string that is one `${...}` gives the expression's value with its type; one with text around gives a string. `$${`
// stands for `${`. Lists and maps may hold such strings at any depth, also as keys of maps.
#pragma once

#include <string>
#include <vector>

#include "patches/template/source.h"
#include "sublet/patches/cel.h"

namespace sublet::patches {

class ValueForm {
 public:
  /// Problems are added with the path `key`.
  static ValueForm parse(const YamlNode& node, const cel::Environment& environment, const std::string& key,
                         Problems& problems);
  /// From text that stands inside another scalar of the file, at byte `offset` of it.
  static ValueForm parse_text(std::string_view text, const YamlNode& scalar, std::size_t offset,
                              const cel::Environment& environment, const std::string& key, Problems& problems);

  /// Errors name the expression.
  cel::Value evaluate(const cel::Activation& activation) const;
  /// As text: strings as they are, numbers and booleans as JSON; an error value for the rest.
  cel::Value evaluate_text(const cel::Activation& activation) const;
  bool fixed() const { return parts_.empty() && children_.empty(); }
  /// Found at load to fit every place that it goes to, as it stands: need not be checked for each object.
  bool fits() const { return fits_; }
  void found_to_fit() { fits_ = true; }
  /// Static type; dyn when it is only known at run time.
  cel::Kind type() const { return type_; }
  const cel::Value& fixed_value() const { return fixed_; }

 private:
  struct Part {
    std::string text;                   // before the expression
    std::vector<cel::Program> program;  // none after the last text, else one
  };
  struct Member;

  void parse_parts(std::string_view text, const YamlNode& scalar, std::size_t offset,
                   const cel::Environment& environment, const std::string& key, Problems& problems);
  cel::Value interpolate(const cel::Activation& activation) const;

  bool fits_ = false;
  cel::Kind type_ = cel::Kind::null;
  cel::Value fixed_;
  std::vector<Part> parts_;
  std::vector<ValueForm> keys_;      // of a map
  std::vector<ValueForm> children_;  // of a list or map
};

/// Compiles an expression that stands in a scalar at `offset` and adds its problems. nullopt: it has some.
std::optional<cel::Program> compile_expression(std::string_view source, const YamlNode& scalar, std::size_t offset,
                                               const cel::Environment& environment, const std::string& key,
                                               Problems& problems);

/// A string, number or boolean as text; nullopt for anything else.
std::optional<std::string> scalar_text(const cel::Value& value);

}  // namespace sublet::patches
