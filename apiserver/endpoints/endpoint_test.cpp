#include "apiserver/endpoints/endpoint.h"

#include <gtest/gtest.h>

namespace sublet::apiserver {
namespace {

TEST(Endpoints, HealthAndVersionAnswerAnyone) {
  for (const auto path : {"/healthz", "/livez/ping", "/readyz", "/version", "/version/"}) {
    const Endpoint* endpoint = find_endpoint(path);
    ASSERT_NE(endpoint, nullptr) << path;
    EXPECT_TRUE(endpoint->anonymous) << path;
  }
  for (const auto path : {"/", "/api", "/api/v1", "/metrics", "/openapi/v2", "/openapi/v3/api/v1"}) {
    const Endpoint* endpoint = find_endpoint(path);
    ASSERT_NE(endpoint, nullptr) << path;
    EXPECT_FALSE(endpoint->anonymous) << path;
  }
}

TEST(Endpoints, AreFoundByWholeSegments) {
  for (const auto path : {"/healthzz", "/versions", "/version/x", "/metrics/x", "/openapi", "/apix"})
    EXPECT_EQ(find_endpoint(path), nullptr) << path;
}

}  // namespace
}  // namespace sublet::apiserver
