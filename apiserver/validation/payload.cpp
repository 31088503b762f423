#include "apiserver/validation/payload.h"

namespace sublet::apiserver {

std::size_t decoded_size(std::string_view base64) {
  std::size_t padding = 0;
  while (padding < 2 && padding < base64.size() && base64[base64.size() - 1 - padding] == '=') ++padding;
  return base64.size() / 4 * 3 - padding;
}

void validate_immutable_payload(Causes& causes, const schema::Value& object, const schema::Value& old,
                                std::initializer_list<std::string_view> fields) {
  constexpr std::string_view kMessage = "field is immutable when `immutable` is set";
  if (!old["immutable"].boolean()) return;
  if (!object["immutable"].boolean()) forbidden(causes, "immutable", kMessage);
  for (auto field : fields)
    if (!semantically_equal(object[field], old[field])) forbidden(causes, std::string(field), kMessage);
}

}  // namespace sublet::apiserver
