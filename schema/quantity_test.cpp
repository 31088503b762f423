#include "schema/quantity.h"

#include <gtest/gtest.h>

#include "sublet/schema/engine.h"

namespace sublet::schema {
namespace {

struct Vector {
  const char *in, *out;
};

// What resource.ParseQuantity and String print, odd ones included; made by running them (k8s.io/apimachinery v0.36.3).
constexpr Vector kCanonical[] = {
    {"1", "1"},
    {"0", "0"},
    {"0.0", "0"},
    {"000", "0"},
    {"-0", "0"},
    {"-", "0"},
    {"0Ki", "0"},
    {"1000m", "1"},
    {"0.5", "500m"},
    {".5", "500m"},
    {"1.5", "1500m"},
    {"1.500", "1.500"},
    {"1.001", "1.001"},
    {"0005", "0005"},
    {"+5", "+5"},
    {"100m", "100m"},
    {"1024Ki", "1Mi"},
    {"1Ki", "1Ki"},
    {"8Ki", "8Ki"},
    {"1.5Gi", "1536Mi"},
    {"0.5Gi", "512Mi"},
    {"0.1Ki", "102400m"},
    {"1025Mi", "1025Mi"},
    {"1e3", "1e3"},
    {"1E3", "1E3"},
    {"12e5", "1200e3"},
    {"1000k", "1M"},
    {"1000E", "1"},
    {"100000000000000000000", "100E"},
    {"0.1n", "1n"},
    {"1.0000000001", "1000000001n"},
    {"-0.1n", "-1n"},
    {"9223372036854775807", "9223372036854775807"},
    {"9223372036854775808", "9223372036854775808"},
    {"16Ei", "9223372036854775807"},
    {"-1.5Gi", "-1536Mi"},
};

TEST(Quantity, CanonicalTextIsUpstreams) {
  for (const auto& [in, out] : kCanonical) EXPECT_EQ(canonical_quantity(in), out) << in;
}

TEST(Quantity, CanonicalizingTwiceChangesNothing) {
  for (const auto& [in, out] : kCanonical) EXPECT_EQ(canonical_quantity(out), out) << in;
}

TEST(Quantity, MalformedTextsAreRefusedWithUpstreamsWords) {
  const auto fault = [](std::string_view text) {
    std::string out;
    bool changed = false;
    return canonicalize_quantity(text, out, changed);
  };
  for (const char* text : {"", " 1", "1 ", "1.2.3", "five", "1e--5", "1Mi5x"})
    EXPECT_EQ(fault(text), QuantityFault::format) << text;
  for (const char* text : {"1K", "1i", "1e", "1mm", "1e99999999999999999999"})
    EXPECT_EQ(fault(text), QuantityFault::suffix) << text;
  for (const char* text : {"Ei", "e-12", ".Pi"}) EXPECT_EQ(fault(text), QuantityFault::numeric) << text;
  EXPECT_EQ(canonical_quantity("five"), std::nullopt);
}

TEST(Quantity, NanosCompareAcrossSuffixes) {
  EXPECT_EQ(quantity_nanos("1"), static_cast<__int128>(1'000'000'000));
  EXPECT_EQ(quantity_nanos("1000m"), quantity_nanos("1"));
  EXPECT_EQ(quantity_nanos("1Ki"), quantity_nanos("1024"));
  EXPECT_EQ(quantity_nanos("0.1n"), static_cast<__int128>(1));
  EXPECT_EQ(quantity_nanos("-2"), -static_cast<__int128>(2'000'000'000));
  EXPECT_GT(*quantity_nanos("1e60"), *quantity_nanos("1e20"));  // saturated
  EXPECT_EQ(quantity_nanos("x"), std::nullopt);
}

TEST(Quantity, NanosPrintInTheFamilyOfTheirLike) {
  const auto gib = *quantity_nanos("1Gi");
  EXPECT_EQ(quantity_from_nanos(gib, "1Mi"), "1Gi");
  EXPECT_EQ(quantity_from_nanos(gib), "1073741824");
  EXPECT_EQ(quantity_from_nanos(*quantity_nanos("1500m")), "1500m");
  EXPECT_EQ(quantity_from_nanos(*quantity_nanos("1500m"), "1Gi"), "1500m");
  EXPECT_EQ(quantity_from_nanos(*quantity_nanos("12e6"), "1e3"), "12e6");
  EXPECT_EQ(quantity_from_nanos(0, "1Gi"), "0");
  EXPECT_EQ(quantity_from_nanos(-5), "-5n");
}

TEST(Quantity, HugeExponentsCostNothing) {
  EXPECT_EQ(canonical_quantity("1e2000000000"), "100e1999999998");
  EXPECT_EQ(canonical_quantity("1e-2000000000"), "1e-9");
  EXPECT_TRUE(quantity_nanos("1e2147483647"));
}

}  // namespace
}  // namespace sublet::schema
