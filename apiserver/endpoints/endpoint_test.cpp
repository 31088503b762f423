#include "apiserver/endpoints/endpoint.h"

#include <gtest/gtest.h>

namespace sublet::apiserver {
namespace {

TEST(Endpoints, AreFoundByWholeSegments) {
  for (const auto path : {"/healthz", "/livez/ping", "/readyz", "/version/", "/", "/api/v1", "/openapi/v3/api/v1"})
    EXPECT_NE(find_endpoint(path), nullptr) << path;
  for (const auto path : {"/healthzz", "/versions", "/version/x", "/metrics/x", "/openapi", "/apix"})
    EXPECT_EQ(find_endpoint(path), nullptr) << path;
}

}  // namespace
}  // namespace sublet::apiserver
