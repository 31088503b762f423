#include "sublet/apiserver/bootstrap.h"

#include <gtest/gtest.h>

#include "apiserver/kind_testing.h"

namespace sublet::apiserver {
namespace {

TEST(Bootstrap, EverythingIsValidAsItStands) {
  KindBench bench;
  bench.options.ca_certificate_pem = "PEM";
  for (auto name : {"kube-system", "kube-public", "kube-node-lease"})
    bench.store(std::string("namespaces/") + name, R"({"metadata":{"name":"x"},"status":{"phase":"Active"}})");
  std::size_t count = 0;
  for (auto& object : bootstrap_objects(bench.options)) {
    auto made = bench.create(object.resource, object.object.to_json(), object.namespace_name);
    EXPECT_TRUE(made) << object.resource << " " << object.name << "\n" << causes_text(made);
    ++count;
  }
  EXPECT_EQ(count, 4u + 2u + 8u + 5u);
}

}  // namespace
}  // namespace sublet::apiserver
