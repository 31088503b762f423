// The engine against upstream's own golden files: every kind of k8s.io/api in JSON, YAML and protobuf.
//
// The files are not ours to commit; they are read from the Go module cache (SUBLET_GOMODCACHE, else `go env
// GOMODCACHE`) after `go mod download k8s.io/api@v0.36.3`, and the tests say so and are skipped when it is not there.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"
#include "sublet/schema/table.h"

namespace sublet::schema {
namespace {

namespace fs = std::filesystem;

std::string first_line_of(const char* command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command, "r"), pclose);
  char line[4096] = "";
  if (!pipe || !fgets(line, sizeof line, pipe.get())) return {};
  std::string text = line;
  text.erase(text.find_last_not_of("\r\n") + 1);
  return text;
}

/// "v1.36.3" of kubernetes is v0.36.3 of its staging modules.
std::string staging_version() {
  return "v0" + std::string(Registry::builtin()->release().substr(std::string_view("v1").size()));
}

fs::path golden_folder() {
  const char* fixed = std::getenv("SUBLET_GOMODCACHE");
  const std::string cache = fixed ? fixed : first_line_of("go env GOMODCACHE 2>/dev/null");
  if (cache.empty()) return {};
  fs::path folder = fs::path(cache) / ("k8s.io/api@" + staging_version()) / "testdata/HEAD";
  return fs::exists(folder) ? folder : fs::path();
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Golden {
  std::string name;
  std::string json, yaml, protobuf;
  Type type;
};

/// All golden kinds that the table knows.
class GoldenFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path folder = golden_folder();
    if (folder.empty()) GTEST_SKIP() << "no k8s.io/api@" << staging_version() << " in the Go module cache";
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".json") add(entry.path());
    ASSERT_GT(goldens_.size(), 100u);
  }

  void add(const fs::path& path) {
    Golden golden{path.stem().string(), read_file(path), read_file(fs::path(path).replace_extension(".yaml")),
                  read_file(fs::path(path).replace_extension(".pb")), Type()};
    const auto document = Document::parse_json(golden.json);
    ASSERT_TRUE(document) << golden.name;
    const std::string api_version = (*document)["apiVersion"].string();
    const auto slash = api_version.find('/');
    const std::string group = slash == std::string::npos ? "" : api_version.substr(0, slash);
    const std::string version = slash == std::string::npos ? api_version : api_version.substr(slash + 1);
    golden.type = Registry::builtin()->find_kind(group, version, (*document)["kind"].text());
    if (golden.type)
      goldens_.push_back(std::move(golden));
    else
      unknown_.push_back(golden.name);
  }

  std::vector<Golden> goldens_;
  std::vector<std::string> unknown_;
};

std::string compact(const std::string& json) {
  auto document = Document::parse_json(json);
  return document ? document->to_json() : "malformed";
}

// Golden files also exist for versions that are no longer served; those the table has no reason to know.
TEST_F(GoldenFiles, TableKnowsEveryKindOfAServedVersion) {
  EXPECT_GT(goldens_.size(), 100u);
  for (const std::string& unknown : unknown_)
    for (const GroupFacts& group : Registry::builtin()->groups())
      for (const std::string_view version : group.versions) {
        const std::string prefix = (group.name.empty() ? "core" : std::string(group.name)) + "." + std::string(version);
        EXPECT_FALSE(unknown.starts_with(prefix + ".") && unknown != "core.v1.WatchEvent") << unknown;
      }
}

TEST_F(GoldenFiles, JsonIsAFixedPointOfConform) {
  for (const Golden& golden : goldens_) {
    DecodeNotes notes;
    const auto document = decode_json(golden.json, golden.type, &notes);
    ASSERT_TRUE(document) << golden.name << ": " << document.error().message;
    EXPECT_EQ(document->to_json(), compact(golden.json)) << golden.name;
    EXPECT_TRUE(notes.clean()) << golden.name << ": " << notes.strict_message();
  }
}

TEST_F(GoldenFiles, ProtobufDecodesToTheJson) {
  for (const Golden& golden : goldens_) {
    const auto envelope = open_protobuf(golden.protobuf);
    ASSERT_TRUE(envelope) << golden.name;
    auto document = decode_protobuf(envelope->raw, golden.type);
    ASSERT_TRUE(document) << golden.name << ": " << document.error().message;
    document->root().put("kind", envelope->kind);
    document->root().put("apiVersion", envelope->api_version);
    ASSERT_TRUE(conform(document->root(), golden.type));
    EXPECT_EQ(document->to_json(), compact(golden.json)) << golden.name;
  }
}

TEST_F(GoldenFiles, JsonEncodesToTheProtobuf) {
  for (const Golden& golden : goldens_) {
    const auto document = decode_json(golden.json, golden.type);
    ASSERT_TRUE(document) << golden.name;
    const std::string message = encode_protobuf(document->root(), golden.type);
    const std::string sealed = seal_protobuf((*document)["apiVersion"].text(), (*document)["kind"].text(), message);
    EXPECT_TRUE(sealed == golden.protobuf)
        << golden.name << ": " << sealed.size() << " bytes instead of " << golden.protobuf.size();
  }
}

TEST_F(GoldenFiles, YamlReadsAsTheJson) {
  for (const Golden& golden : goldens_) {
    DecodeNotes notes;
    const auto document = decode_yaml(golden.yaml, golden.type, &notes);
    ASSERT_TRUE(document) << golden.name << ": " << document.error().message;
    EXPECT_EQ(document->to_json(), compact(golden.json)) << golden.name;
    EXPECT_TRUE(notes.clean()) << golden.name << ": " << notes.strict_message();
  }
}

TEST_F(GoldenFiles, JsonPrintsAsTheYaml) {
  for (const Golden& golden : goldens_) {
    const auto document = Document::parse_json(golden.json);
    ASSERT_TRUE(document);
    EXPECT_EQ(to_yaml(document->root()), golden.yaml) << golden.name;
  }
}

}  // namespace
}  // namespace sublet::schema
