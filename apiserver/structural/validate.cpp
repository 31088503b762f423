#include "apiserver/structural/validate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "apiserver/validation/field_errors.h"
#include "sublet/schema/yaml_scalar.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

/// A definition may have any number for a limit; of what is beyond int64 the conversion would be undefined.
bool fits_integer(double number) { return number >= -0x1p63 && number < 0x1p63; }

bool is_integral(double number) { return std::isfinite(number) && std::trunc(number) == number; }

/// The JSON type's name, as the validator's messages have it.
std::string_view json_kind(const Value& value) {
  switch (value.kind()) {
    case schema::NodeKind::null:
      return "null";
    case schema::NodeKind::boolean:
      return "boolean";
    case schema::NodeKind::integer:
      return "integer";
    case schema::NodeKind::floating:
      return "number";
    case schema::NodeKind::string:
      return "string";
    case schema::NodeKind::array:
      return "array";
    case schema::NodeKind::object:
      return "object";
  }
  return "";
}

bool is_of_type(const Value& value, JsonType type) {
  switch (type) {
    case JsonType::any:
      return true;
    case JsonType::object:
      return value.is_object();
    case JsonType::array:
      return value.is_array();
    case JsonType::string:
      return value.is_string();
    case JsonType::integer:
      return value.is_integer() || (value.is_floating() && is_integral(value.floating()));
    case JsonType::number:
      return value.is_number();
    case JsonType::boolean:
      return value.is_boolean();
    case JsonType::int_or_string:
      return value.is_string() || value.is_integer() || (value.is_floating() && is_integral(value.floating()));
  }
  return false;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// The item of the old list that has the same keys; missing: none, or the list's items cannot be found again.
Value old_item(const Value& item, const Value& old, const Schema& schema) {
  if (schema.list_type != schema::ListType::map || !item.is_object()) return {};
  for (const Value candidate : old) {
    const bool same = std::ranges::all_of(schema.list_map_keys, [&](std::string_view key) {
      const Value mine = item[key], other = candidate[key];
      return mine.missing() ? other.missing() : other && mine.equals(other);
    });
    if (same) return candidate;
  }
  return {};
}

Value old_member(std::string_view name, const Value& old, const Schema& schema) {
  return schema.map_type == schema::MapType::atomic || !schema.member(name) ? Value() : old[name];
}

class Validator {
 public:
  Validator(const std::string& prefix, std::vector<Cause>& causes) : prefix_(prefix), causes_(causes) {}

  /// How many checks were made counts where several schemas compete: the best failure is reported.
  std::size_t value(const Value& value, const Value& old, const Schema& schema, const std::string& path) {
    const std::size_t first = causes_.size();
    const std::size_t matches = judge(value, old, schema, path);
    if (causes_.size() != first && old && value.equals(old)) causes_.resize(first);
    return matches;
  }

 private:
  std::size_t judge(const Value& value, const Value& old, const Schema& schema, const std::string& path) {
    std::size_t matches = 1;
    type(value, schema, path);
    if (value.is_null()) {
      choice(value, schema, path);
      return matches;
    }
    if (schema.checks) {
      matches += combined(value, old, schema, *schema.checks, path);
      if (value.is_string()) string(value.text(), *schema.checks, path);
      if (value.is_string()) format(value.text(), schema, path);
      if (value.is_number()) number(value, schema, path);
    }
    if (value.is_array()) matches += list(value, old, schema, path);
    choice(value, schema, path);
    if (value.is_object()) matches += object(value, old, schema, path);
    return matches;
  }

  std::string field(const std::string& path) const {
    const std::string_view bare = path.starts_with('.') ? std::string_view(path).substr(1) : path;
    if (prefix_.empty()) return bare.empty() ? std::string(kNoField) : std::string(bare);
    return bare.empty() ? prefix_ : prefix_ + "." + std::string(bare);
  }
  void invalid(const std::string& path, const BadValue& value, const std::string& detail) {
    apiserver::invalid(causes_, field(path), value, path + " in body " + detail);
  }
  void type_invalid(const std::string& path, std::string_view found, std::string_view wanted) {
    invalid(path, found, "must be of type " + std::string(wanted) + ": \"" + std::string(found) + "\"");
    causes_.back().reason = "FieldValueTypeInvalid";
  }
  void composite(const std::string& message) {
    apiserver::invalid(causes_, prefix_.empty() ? std::string(kNoField) : prefix_, "", message);
  }

  void type(const Value& value, const Schema& schema, const std::string& path) {
    if (schema.type == JsonType::any || (value.is_null() && schema.nullable) || is_of_type(value, schema.type)) return;
    type_invalid(path, json_kind(value),
                 schema.type == JsonType::int_or_string ? "integer,string" : type_name(schema.type));
  }

  void string(std::string_view text, const Checks& checks, const std::string& path) {
    const auto size = static_cast<std::int64_t>(characters(text));
    if (checks.max_length && size > *checks.max_length)
      return too_long(causes_, field(path), static_cast<int>(*checks.max_length));
    if (checks.min_length && size < *checks.min_length)
      return invalid(path, text, "should be at least " + std::to_string(*checks.min_length) + " chars long");
    if (checks.pattern && !checks.pattern->matches(text))
      invalid(path, text, "should match '" + std::string(checks.pattern->text()) + "'");
  }

  void format(std::string_view text, const Schema& schema, const std::string& path) {
    const auto name = schema.checks->format;
    if (name.empty() || (schema.type != JsonType::string && schema.type != JsonType::any)) return;
    if (known_format(JsonType::string, name) && !has_format(name, text)) type_invalid(path, text, name);
  }

  void number(const Value& value, const Schema& schema, const std::string& path) {
    const Checks& checks = *schema.checks;
    const double number = value.floating();
    const auto bound = [&](double limit) {
      return value.is_integer() && fits_integer(limit) ? std::to_string(static_cast<std::int64_t>(limit))
                                                       : schema::format_go_float(limit, 64);
    };
    if (checks.multiple_of && *checks.multiple_of > 0) {
      const double factor = *checks.multiple_of;
      if (!is_integral(factor < 1 ? 1 / factor * number : number / factor))
        invalid(path, value, "should be a multiple of " + bound(factor));
    }
    if (checks.maximum && (checks.exclusive_maximum ? number >= *checks.maximum : number > *checks.maximum))
      invalid(path, value,
              (checks.exclusive_maximum ? "should be less than " : "should be less than or equal to ") +
                  bound(*checks.maximum));
    if (checks.minimum && (checks.exclusive_minimum ? number <= *checks.minimum : number < *checks.minimum))
      invalid(path, value,
              (checks.exclusive_minimum ? "should be greater than " : "should be greater than or equal to ") +
                  bound(*checks.minimum));
    if (schema.type == JsonType::integer && checks.format == "int32" &&
        (number > std::numeric_limits<std::int32_t>::max() || number < std::numeric_limits<std::int32_t>::min()))
      invalid(path, value, "must be of type integer with format int32");
  }

  void choice(const Value& value, const Schema& schema, const std::string& path) {
    if (!schema.checks || !schema.checks->choices) return;
    std::vector<std::string> texts;
    for (const Value choice : schema.checks->choices) {
      if (choice.equals(value)) return;
      texts.push_back(choice.is_string() ? choice.string() : choice.to_json());
    }
    const std::vector<std::string_view> supported(texts.begin(), texts.end());
    not_supported(causes_, field(path), value, supported);
  }

  std::size_t list(const Value& value, const Value& old, const Schema& schema, const std::string& path) {
    std::size_t matches = 1;
    if (schema.items) {
      std::size_t index = 0;
      for (const Value item : value)
        matches +=
            this->value(item, old_item(item, old, schema), *schema.items, path + "[" + std::to_string(index++) + "]");
    }
    if (!schema.checks) return matches;
    const auto size = static_cast<std::int64_t>(value.size());
    if (schema.checks->min_items && size < *schema.checks->min_items)
      invalid(path, size, "should have at least " + std::to_string(*schema.checks->min_items) + " items");
    if (schema.checks->max_items && size > *schema.checks->max_items)
      too_many(causes_, field(path), value.size(), static_cast<std::size_t>(*schema.checks->max_items));
    return matches;
  }

  std::size_t object(const Value& value, const Value& old, const Schema& schema, const std::string& path) {
    std::size_t matches = 1;
    const auto size = static_cast<std::int64_t>(value.size());
    if (schema.checks && schema.checks->min_properties && size < *schema.checks->min_properties)
      invalid(path, size, "should have at least " + std::to_string(*schema.checks->min_properties) + " properties");
    if (schema.checks && schema.checks->max_properties && size > *schema.checks->max_properties)
      too_many(causes_, field(path), value.size(), static_cast<std::size_t>(*schema.checks->max_properties));
    for (const Value member : value) {
      const Schema* known = schema.member(member.key());
      if (!known) continue;
      std::string below = path.empty() && schema.property(member.key()) ? "" : path + ".";
      matches += this->value(member, old_member(member.key(), old, schema), *known, below.append(member.key()));
    }
    if (schema.checks)
      for (const auto name : schema.checks->required)
        if (!value.has(name)) apiserver::required(causes_, field(path + "." + std::string(name)));
    return matches;
  }

  // --- anyOf, oneOf, allOf, not ---

  struct Trial {
    std::vector<Cause> causes;
    std::size_t matches = 0;
    bool valid() const { return causes.empty(); }
  };
  Trial attempt(const Value& value, const Value& old, const Schema& schema, const std::string& path) {
    Trial trial;
    trial.matches = Validator(prefix_, trial.causes).value(value, old, schema, path);
    return trial;
  }
  void tell(Trial&& trial) { std::ranges::move(trial.causes, std::back_inserter(causes_)); }

  std::size_t combined(const Value& value, const Value& old, const Schema&, const Checks& checks,
                       const std::string& path) {
    std::size_t matches = 0;
    if (!checks.any_of.empty()) matches += any_of(value, old, checks, path);
    if (!checks.one_of.empty()) matches += one_of(value, old, checks, path);
    std::size_t valid = 0;
    for (const Schema* part : checks.all_of) {
      Trial trial = attempt(value, old, *part, path);
      valid += trial.valid();
      matches += trial.matches;
      tell(std::move(trial));
    }
    if (valid != checks.all_of.size())
      composite("\"" + path + "\" must validate all the schemas (allOf)" + (valid == 0 ? ". None validated" : ""));
    if (checks.negated && attempt(value, old, *checks.negated, path).valid())
      composite("\"" + path + "\" must not validate the schema (not)");
    return matches;
  }

  std::size_t any_of(const Value& value, const Value& old, const Checks& checks, const std::string& path) {
    std::optional<Trial> best;
    for (const Schema* part : checks.any_of) {
      Trial trial = attempt(value, old, *part, path);
      if (trial.valid()) return trial.matches;
      if (!best || trial.matches > best->matches) best = std::move(trial);
    }
    composite("\"" + path + "\" must validate at least one schema (anyOf)");
    const std::size_t matches = best->matches;
    tell(std::move(*best));
    return matches;
  }

  std::size_t one_of(const Value& value, const Value& old, const Checks& checks, const std::string& path) {
    std::optional<Trial> best;
    std::size_t valid = 0, matches = 0;
    for (const Schema* part : checks.one_of) {
      Trial trial = attempt(value, old, *part, path);
      if (trial.valid()) {
        if (valid++ == 0) matches = trial.matches;
        best.reset();
      } else if (valid == 0 && (!best || trial.matches > best->matches)) {
        best = std::move(trial);
      }
    }
    if (valid == 1) return matches;
    composite("\"" + path + "\" must validate one and only one schema (oneOf). " +
              (valid == 0 ? "Found none valid" : "Found " + std::to_string(valid) + " valid alternatives"));
    if (best) tell(std::move(*best));
    return matches;
  }

  const std::string& prefix_;
  std::vector<Cause>& causes_;
};

}  // namespace

void validate_schema(const Value& value, const Value& old, const Schema& schema, const std::string& prefix,
                     std::vector<Cause>& causes) {
  Validator(prefix, causes).value(value, old, schema, "");
}

bool blocks_rules(const std::vector<Cause>& causes) {
  constexpr std::string_view kBlocking[] = {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong",
                                            "FieldValueTooMany", "FieldValueTypeInvalid"};
  return std::ranges::any_of(
      causes, [&](const Cause& cause) { return std::ranges::find(kBlocking, cause.reason) != std::end(kBlocking); });
}

}  // namespace sublet::apiserver
