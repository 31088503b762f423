// Endpoints: rules that Endpoints, EndpointSlice and Service share. Pure.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

/// An address that traffic can be sent to: not unspecified, loopback or link-local.
void validate_endpoint_ip(Causes& causes, const std::string& path, std::string_view ip);
/// The server's own endpoints (default/kubernetes) say where it listens, also when that is the loopback address.
bool is_server_endpoint(const schema::Value& metadata);

}  // namespace sublet::apiserver
