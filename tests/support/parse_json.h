// Reads the JSON texts that tests write down.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "sublet/schema/document.h"

namespace sublet::testing_support {

/// Returns the document of `text`. If `text` is not JSON, fails the test and returns an empty document.
inline schema::Document parse_json(std::string_view text) {
  auto document = schema::Document::parse_json(text);
  EXPECT_TRUE(document) << text << ": " << (document ? "" : document.error().message);
  return document ? std::move(*document) : schema::Document();
}

}  // namespace sublet::testing_support
