// What the translation tests share: the context of a virtual cluster, and objects written as YAML.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "sublet/patches/template.h"
#include "sublet/schema/engine.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {

/// Returns the context of the virtual cluster "rag", which has no template.
inline TranslateContext rag_context() {
  TranslateContext context;
  context.virtual_cluster = "rag";
  context.virtual_cluster_uid = "vc-uid";
  context.host_namespace = "team-rag";
  context.host_service_account = "sublet-workload-rag";
  context.api_server_host = "10.1.2.3";
  context.api_server_port = "443";
  return context;
}

/// Returns rag_context() with the template of `template_text` (YAML).
inline TranslateContext rag_context_with(const std::string& template_text) {
  TranslateContext context = rag_context();
  const auto loaded = patches::Template::load(template_text, "t.yaml");
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (loaded) context.resolved_template = loaded->resolve({}, "rag", "team-rag").value();
  return context;
}

/// Returns the document of `yaml`. If `yaml` is not YAML, fails the test and returns an empty document.
inline schema::Document yaml_document(std::string_view yaml) {
  auto document = schema::parse_yaml(yaml);
  EXPECT_TRUE(document) << yaml;
  return document ? std::move(*document) : schema::Document();
}

}  // namespace sublet::syncer
