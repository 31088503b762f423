// Payload: what ConfigMap and Secret share: the size limit and the `immutable` switch. Pure.
#pragma once

#include <initializer_list>
#include <string_view>

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

inline constexpr int kPayloadMax = 1024 * 1024;

/// Number of bytes that a base64 text encodes.
std::size_t decoded_size(std::string_view base64);
/// When `old` is immutable: neither the switch nor these fields may change.
void validate_immutable_payload(Causes& causes, const schema::Value& object, const schema::Value& old,
                                std::initializer_list<std::string_view> fields);

}  // namespace sublet::apiserver
