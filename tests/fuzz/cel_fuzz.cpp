// Any text as a CEL expression, in every library: compiling and evaluating end, twice with the same answer and the same
// cost; problems lie inside the text.
#include "patch_input.h"
#include "sublet/patches/cel.h"

namespace {

using namespace sublet;
using patches::cel::Environment;
using patches::cel::Library;
using patches::cel::Type;
using patches::cel::Value;

constexpr const char* kSchema = R"({"type":"object","properties":{"spec":{"type":"object","properties":{
  "name":{"type":"string","maxLength":63},"when":{"type":"string","format":"date-time"},"port":{"x-kubernetes-int-or-string":true},
  "timeout":{"type":"string","format":"duration"},"ratio":{"type":"number"},"labels":{"type":"object","additionalProperties":{"type":"string"}},
  "list":{"type":"array","maxItems":9,"items":{"type":"string"}},"numbers":{"type":"array","items":{"type":"integer"}},
  "set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
  "ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","properties":
    {"name":{"type":"string"},"port":{"type":"integer"}}}}}}}})";
constexpr const char* kObject =
    R"({"metadata":{"name":"p","labels":{"a/b":"1"}},"spec":{"name":"x","when":"2024-02-29T00:00:00Z",
  "timeout":"1h","ratio":1,"port":80,"labels":{"a":"b"},"list":["b","a"],"numbers":[3,1],"set":["y","x"],
  "ports":[{"name":"http","port":80}],"containers":[{"name":"x","ports":[80]}]}})";

class ObjectActivation final : public patches::cel::Activation {
 public:
  Value get(int slot) const override {
    return slot == 0 ? Value::of(object_.root()) : Value::of(object_.root(), self_.get());
  }
  Environment environment(Library library) const {
    Environment environment(library);
    environment.declare("object");
    environment.declare("self", self_);
    return environment;
  }

 private:
  schema::Document schema_ = schema::Document::parse_json(kSchema).value();
  schema::Document object_ = schema::Document::parse_json(kObject).value();
  patches::cel::TypeRef self_ = Type::of_schema(schema_.root(), true);
};

void try_library(std::string_view source, const Environment& environment, const ObjectActivation& activation) {
  const auto program = patches::cel::Program::compile(source, environment);
  if (!program) {
    if (program.error().empty()) std::abort();
    for (const auto& problem : program.error())
      if (problem.offset < -1 || (problem.offset > static_cast<int>(source.size())) || problem.message.empty())
        std::abort();
    if (display_text(program.error(), source).empty()) std::abort();
    return;
  }
  if (program->estimate_cost().min > program->estimate_cost().max) std::abort();
  const auto first = program->run(activation, 10'000);
  const auto second = program->run(activation, 10'000);
  if (debug_text(first.value) != debug_text(second.value) || first.cost != second.cost) std::abort();
  schema::Document out;
  if (write(first.value, out.root())) fuzz::check_sound(out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ObjectActivation activation;
  static const Environment environments[] = {activation.environment(Library::templates),
                                             activation.environment(Library::kubernetes),
                                             activation.environment(Library::standard)};
  const std::string_view source = fuzz::text_of(data, size);
  for (const Environment& environment : environments) try_library(source, environment, activation);
  return 0;
}
