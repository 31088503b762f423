// Any text as a CEL expression: compiling and evaluating end, twice with the same answer; problems lie inside the text.
#include "patch_input.h"
#include "sublet/patches/cel.h"

namespace {

using namespace sublet;

class PodActivation final : public patches::cel::Activation {
 public:
  PodActivation()
      : pod_(schema::Document::parse_json(
                 R"({"metadata":{"name":"p","labels":{"a/b":"1"}},"spec":{"containers":[{"name":"x","ports":[80]}]}})")
                 .value()) {}
  patches::cel::Value get(int) const override { return patches::cel::Value::of(pod_.root()); }

 private:
  schema::Document pod_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const PodActivation activation;
  patches::cel::Environment environment;
  environment.declare("object");
  const std::string_view source = fuzz::text_of(data, size);
  const auto program = patches::cel::Program::compile(source, environment);
  if (!program) {
    if (program.error().empty()) std::abort();
    for (const auto& problem : program.error())
      if (problem.offset < -1 || static_cast<std::size_t>(problem.offset) > size || problem.message.empty())
        std::abort();
    return 0;
  }
  const auto first = program->evaluate(activation, 10'000);
  const auto second = program->evaluate(activation, 10'000);
  if (debug_text(first) != debug_text(second)) std::abort();
  schema::Document out;
  if (write(first, out.root())) fuzz::check_sound(out);
  return 0;
}
