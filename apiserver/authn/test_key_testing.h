// A fresh service account key for tests. Test code only.
#pragma once

#include <string>

namespace sublet::apiserver {

/// PEM of an EC key on P-256; the same one for the whole process.
const std::string& test_key_pem();

}  // namespace sublet::apiserver
