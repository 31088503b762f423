#include "store/rows/row_codec.h"

#include <gtest/gtest.h>

#include "store/rows/crc32c.h"

namespace sublet::store {
namespace {

Object sample() {
  Object object;
  object.key = "pods/default/web-0";
  object.bytes = R"({"metadata":{"name":"web-0","resourceVersion":""}})";
  object.hole = 46;
  object.revision = 1234567890123;
  object.create_revision = 17;
  object.index.uid = "0b4e0f4a-8f1d-4ae1-9e2e-4d7f0a3b8c11";
  object.index.labels = {{"app", "web"}, {"tier", std::string(300, 'x')}};
  object.index.fields = {{"spec.nodeName", ""}};
  object.index.owner_uids = {"owner"};
  return object;
}

TEST(RowCodec, GivesBackWhatWasPutIn) {
  const Object object = sample();
  auto decoded = decode_row(encode_row(object, false, true, 41));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_FALSE(decoded->deleted);
  EXPECT_EQ(decoded->previous_row, 41);
  EXPECT_EQ(decoded->object->key, object.key);
  EXPECT_EQ(decoded->object->json(), object.json());
  EXPECT_EQ(decoded->object->revision, object.revision);
  EXPECT_EQ(decoded->object->create_revision, object.create_revision);
  EXPECT_EQ(decoded->object->index.uid, object.index.uid);
  EXPECT_EQ(decoded->object->index.labels, object.index.labels);
  EXPECT_EQ(decoded->object->index.fields, object.index.fields);
  EXPECT_EQ(decoded->object->index.owner_uids, object.index.owner_uids);
}

TEST(RowCodec, ADeleteNeedsNoStateAndAPutDoes) {
  auto decoded = decode_row(encode_row(sample(), true, false, 41));
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(decoded->deleted);
  EXPECT_EQ(decoded->object, nullptr);
  EXPECT_FALSE(decode_row(encode_row(sample(), false, false, 41)));
}

TEST(RowCodec, EveryFlippedBitAndEveryCutIsFound) {
  const Row row = encode_row(sample(), false, true, 41);
  for (std::size_t byte = 0; byte < row.value.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      Row flipped = row;
      flipped.value[byte] = static_cast<char>(flipped.value[byte] ^ (1 << bit));
      EXPECT_FALSE(decode_row(std::move(flipped))) << byte << "." << bit;
    }
  for (std::size_t size = 0; size < row.value.size(); ++size) {
    Row cut = row;
    cut.value.resize(size);
    EXPECT_FALSE(decode_row(std::move(cut))) << size;
  }
}

TEST(RowCodec, ColumnsThatDoNotBelongTogetherAreFound) {
  const Row row = encode_row(sample(), false, true, 41);
  Row changed = row;
  changed.revision += 1;
  EXPECT_FALSE(decode_row(Row(changed)));
  changed = row;
  changed.create_revision -= 1;
  EXPECT_FALSE(decode_row(Row(changed)));
  changed = row;
  changed.key.back() = '1';
  EXPECT_FALSE(decode_row(Row(changed)));
  changed = row;
  changed.deleted = true;
  EXPECT_FALSE(decode_row(Row(changed)));
}

TEST(Crc32c, KnownAnswersAndBothWaysAgree) {
  EXPECT_EQ(crc32c(0, "123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c_portable(0, "123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(0, ""), 0u);
  std::string text;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(crc32c(7, text), crc32c_portable(7, text));
    text += static_cast<char>(i * 37);
  }
  EXPECT_EQ(crc32c(crc32c(0, "1234"), "56789"), crc32c(0, "123456789"));
}

}  // namespace
}  // namespace sublet::store
