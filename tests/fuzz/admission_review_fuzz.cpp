// A webhook's answer, which is a stranger's: whatever it says, it is an answer or a reason why it is none, and a patch
// that it brings leaves a sound tree. The first line says what was asked (m or v, then the version), the rest is the
// answer.
#include "apiserver/admission/webhook_review.h"
#include "patch_input.h"
#include "sublet/patches/patch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sublet;
  const std::string_view text = fuzz::text_of(data, size);
  const auto line = text.find('\n');
  if (line == std::string_view::npos || line == 0) return 0;
  const std::string_view version = text.substr(0, line).ends_with("beta") ? "v1beta1" : "v1";
  const bool mutating = text[0] == 'm';
  auto answer = apiserver::read_review({"hook.example.com", version, "u", mutating}, text.substr(line + 1));
  if (!answer) {
    if (answer.error().message.empty()) std::abort();
    return 0;
  }
  if (!answer->allowed) {
    const int code = answer->refusal.http_code();
    if (code < 400 || code > 599 ||
        !answer->refusal.message.starts_with("admission webhook \"hook.example.com\" denied"))
      std::abort();
    return 0;
  }
  if (!mutating && !answer->patch.root().is_null()) std::abort();
  if (answer->patch.root().is_null()) return 0;
  auto object = schema::Document::parse_json(
      R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"b":"c"}},"data":{"k":"v"}})");
  (void)patches::apply_json_patch(object->root(), answer->patch.root());
  fuzz::check_sound(*object);
  return 0;
}
