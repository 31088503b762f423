// Quantity: the parsed form behind canonical_quantity() and quantity_nanos(); private to schema/.
//
// The rules are those of k8s.io/apimachinery's resource.Quantity, its oddities included, because the text that leaves
// the server must be the text that kube-apiserver would have sent: "1.500" stays as it is (the parser keeps text whose
// exponent is a multiple of three), "1.5" becomes "1500m", sub-nano values round away from zero.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sublet::schema {

enum class QuantityFault : std::uint8_t { none, format, suffix, numeric };

/// Upstream's words for the fault.
std::string_view quantity_fault_message(QuantityFault fault);

/// Canonical text of `text` (without surrounding blanks). `changed` false: `text` itself is canonical and `out` is not
/// touched, which is the common case and costs no allocation.
QuantityFault canonicalize_quantity(std::string_view text, std::string& out, bool& changed);

}  // namespace sublet::schema
