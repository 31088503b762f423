// Our CEL behind a pipe, for the two comparisons in this folder (simple/main.go, against/main.go): a request per line,
// an answer per line, both JSON. main.go of either says what the lines hold.
#include <bit>
#include <cstdlib>
#include <iostream>

#include "sublet/patches/cel.h"
#include "sublet/schema/engine.h"

namespace sublet::patches::cel {
namespace {

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "cel_pipe: " << why << '\n';
  std::exit(1);
}

// {"k": "map", "p": [{"k": "string"}, {"k": "dyn"}]}
TypeRef read_type(const schema::Value& node) {
  const std::string_view name = node["k"].text();
  const schema::Value parts = node["p"];
  if (name == "list") return Type::list(read_type(parts.at(0)));
  if (name == "map") return Type::map(read_type(parts.at(0)), read_type(parts.at(1)));
  if (name == "optional_type") return Type::optional(read_type(parts.at(0)));
  for (int i = 0; i <= static_cast<int>(Kind::dyn); ++i)
    if (name == kind_name(static_cast<Kind>(i))) return Type::of(static_cast<Kind>(i));
  give_up("unknown type " + std::string(name));
}

// {"t": "int", "v": "1"}; lists of such, maps as lists of pairs.
Value read_value(const schema::Value& node) {
  const std::string_view type = node["t"].text();
  const schema::Value v = node["v"];
  const std::string text = v.string();
  if (type == "null") return {};
  if (type == "bool") return Value::boolean(text == "true");
  if (type == "int") return Value::integer(std::strtoll(text.c_str(), nullptr, 10));
  if (type == "uint") return Value::uinteger(std::strtoull(text.c_str(), nullptr, 10));
  if (type == "double") return Value::floating(std::bit_cast<double>(std::strtoull(text.c_str(), nullptr, 16)));
  if (type == "string") return Value::string(text);
  if (type == "bytes") return Value::bytes(*schema::base64_decode(text));
  if (type == "duration") return Value::duration({std::strtoll(text.c_str(), nullptr, 10)});
  if (type == "timestamp")
    return Value::timestamp(
        {std::strtoll(text.c_str(), nullptr, 10), static_cast<std::int32_t>(node["n"].integer()), 0});
  if (type == "optional") return v ? Value::optional_of(read_value(v)) : Value::optional_none();
  if (type == "type") {
    for (int i = 0; i < static_cast<int>(Kind::dyn); ++i)
      if (text == kind_name(static_cast<Kind>(i))) return Value::type(static_cast<Kind>(i));
    give_up("unknown type " + text);
  }
  if (type == "list") {
    List items;
    for (const schema::Value item : v) items.push_back(read_value(item));
    return Value::list(std::move(items));
  }
  Map entries;
  for (const schema::Value pair : v) entries.emplace_back(read_value(pair.at(0)), read_value(pair.at(1)));
  return Value::map(std::move(entries));
}

void write_value(const Value& value, schema::Value out) {
  out.make_object();
  const auto put = [&](const char* type, const std::string& text) {
    out.put("t", type);
    out.put("v", text);
  };
  switch (value.kind()) {
    case Kind::null:
      return put("null", "");
    case Kind::boolean:
      return put("bool", value.as_bool() ? "true" : "false");
    case Kind::integer:
      return put("int", std::to_string(value.as_int()));
    case Kind::uinteger:
      return put("uint", std::to_string(value.as_uint()));
    case Kind::floating: {
      char buffer[32];
      std::snprintf(buffer, sizeof buffer, "%016llx",
                    static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(value.as_double())));
      return put("double", buffer);
    }
    case Kind::string:
      return put("string", std::string(value.as_text()));
    case Kind::bytes:
      return put("bytes", schema::base64_encode(value.as_text()));
    case Kind::type:
      return put("type", std::string(value.as_text()));
    case Kind::timestamp:
      out.put("n", static_cast<std::int64_t>(value.as_timestamp().nanos));
      return put("timestamp", std::to_string(value.as_timestamp().seconds));
    case Kind::duration:
      return put("duration", std::to_string(value.as_duration().nanos));
    case Kind::optional:
      out.put("t", "optional");
      if (value.as_optional()) write_value(*value.as_optional(), out.add_member("v"));
      return;
    case Kind::list:
      out.put("t", "list");
      out.array("v");
      value.each_item([&](const Value& item) {
        write_value(item, out["v"].push(false));
        return true;
      });
      return;
    case Kind::map:
      out.put("t", "map");
      out.array("v");
      value.each_entry([&](const Value& key, const Value& entry) {
        const schema::Value pair = out["v"].push_array();
        schema::Value mutable_pair = pair;
        write_value(key, mutable_pair.push(false));
        write_value(entry, mutable_pair.push(false));
        return true;
      });
      return;
    case Kind::quantity:
      return put("kubernetes.Quantity", go_text(value));
    default:
      return put(std::string(kind_name(value.kind())).c_str(), value.as_opaque().text());
  }
}

std::string number(std::uint64_t value) { return std::to_string(value); }

// Of the request: expr, library, container, variables [{name, type | schema, value | object}].
schema::Document answer(const schema::Value& request) {
  Environment env(request["library"].text() == "kubernetes" ? Library::kubernetes : Library::standard);
  env.set_container(request["container"].string());
  std::vector<Value> values;
  std::vector<TypeRef> types;
  for (const schema::Value variable : request["variables"]) {
    const bool schema = variable.has("schema");
    types.push_back(schema ? Type::of_schema(variable["schema"], variable["root"].boolean())
                           : read_type(variable["type"]));
    if (!types.back()) give_up("a schema that expressions cannot see");
    env.declare(variable["name"].string(), types.back());
    values.push_back(schema ? Value::of(variable["object"], types.back().get())
                            : (variable.has("value") ? read_value(variable["value"]) : Value()));
  }
  auto out = schema::Document::object();
  schema::Value root = out.root();
  const std::string source = request["expr"].string();
  const auto program = Program::compile(source, env);
  if (!program) {
    root.put("compile_error", display_text(program.error(), source));
    return out;
  }
  root.put("type", type_text(program->full_type()));
  root.put("min", number(program->estimate_cost().min));
  root.put("max", number(program->estimate_cost().max));
  const Evaluation result = program->run(ValueActivation(std::move(values)));
  root.put("cost", number(result.cost));
  if (result.value.is_error())
    root.put("error", result.value.failure().message);
  else
    write_value(result.value, root.add_member("value"));
  return out;
}

void serve() {
  std::string line;
  while (std::getline(std::cin, line)) {
    auto request = schema::Document::parse_json(line);
    if (!request) give_up(request.error().message + ": " + line);
    std::cout << answer(request->root()).to_json() << std::endl;
  }
}

}  // namespace
}  // namespace sublet::patches::cel

int main() { sublet::patches::cel::serve(); }
