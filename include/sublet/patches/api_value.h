// ApiValue: a value of the Kubernetes API that a template gives as it is, checked against the API's schema when the
// template is loaded; what of the host's objects it goes to is the reader's affair. Values.
#pragma once

#include <string>

namespace sublet::patches {

/// In JSON; "": the template says nothing.
using ApiValue = std::string;

/// What the template puts beside sublet's own labels and annotations; no key of it is sublet's.
struct ExtraMetadata {
  ApiValue labels, annotations;
  bool given() const { return !labels.empty() || !annotations.empty(); }
};

}  // namespace sublet::patches
