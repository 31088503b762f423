// CustomStrategy: what a CRD says of its kind, as the verbs ask it: defaults, validation, /status, /scale, selectable
// fields. Which version's schema counts says the object's apiVersion. Immutable; any thread.
#pragma once

#include <deque>
#include <map>

#include "apiserver/crd/custom_kind.h"
#include "apiserver/strategies/strategy.h"

namespace sublet::apiserver {

struct CustomStrategy : Strategy {
  CustomStrategy(CustomKindPtr kind, bool terminating);
  CustomStrategy(const CustomStrategy&) = delete;

 private:
  static void set_defaults(const CustomStrategy& self, schema::Value object);
  static Outcome on_create(const CustomStrategy& self, WriteContext& context, schema::Value object);
  static Outcome on_update(const CustomStrategy& self, WriteContext& context, schema::Value object,
                           const schema::Value& old);
  static Outcome on_status(const CustomStrategy& self, WriteContext& context, schema::Value object,
                           const schema::Value& old);
  static void check_new(const CustomStrategy& self, const schema::Value& object, std::vector<Cause>& causes);
  static void check_update(const CustomStrategy& self, const schema::Value& object, const schema::Value& old,
                           std::vector<Cause>& causes);
  static void check_status(const CustomStrategy& self, const schema::Value& object, const schema::Value& old,
                           std::vector<Cause>& causes);
  static void judge(const CustomStrategy& self, WriteContext& context, const schema::Value& object,
                    const schema::Value& old, std::vector<Cause>& causes);
  static bool is_ready(const CustomStrategy& self, std::string_view version);
  static void make_kind_ready(const CustomStrategy& self, std::string_view version);
  static const ScalePaths* paths_of(const CustomStrategy& self, std::string_view version);

  void add_scale(const DefinitionVersion& version);
  void add_selectable(const DefinitionVersion& version);
  void check_rules(const schema::Value& object, const schema::Value& old, std::vector<Cause>& causes,
                   std::vector<std::string>& warnings) const;
  void check_scale(const schema::Value& object, bool spec, std::vector<Cause>& causes) const;
  std::string_view version_of(const schema::Value& object) const;

  const CustomKindPtr kind_;
  const bool terminating_;
  std::deque<std::string> texts_;  // of selectable fields
  std::map<std::string, ScalePaths, std::less<>> scales_;
};

}  // namespace sublet::apiserver
