// Reinvocation: what one write remembers between the two rounds of mutating admission
// (k8s.io/apiserver/pkg/admission/reinvocation.go): when a policy or a webhook has changed the object, all mutating
// plugins see it once more, of those two kinds the ones that ask for it and that another one came after.
//
// Kept with the write's Draft; empty, and without memory of its own, while nothing is configured. One thread at a time.
#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace sublet::apiserver {

class Reinvocation {
 public:
  /// Of the policies, or of the webhooks.
  class Party {
   public:
    /// Those that have been invoked and ask for it are to be invoked again.
    void require() {
      again_.merge(invoked_);
      invoked_.clear();
    }
    void invoked(const std::string& id) { invoked_.insert(id); }
    bool is_required(const std::string& id) const { return again_.contains(id); }

   private:
    std::set<std::string> invoked_, again_;
  };

  bool second_round() const { return second_; }
  /// A second round is to come.
  void want() { wanted_ = true; }
  /// Whether it is; then it has begun.
  bool begin_second() {
    if (second_ || !wanted_) return false;
    second_ = true;
    next_webhook = 0;
    return true;
  }

  Party policies, webhooks;
  std::size_t next_webhook = 0;  // of this round

 private:
  bool second_ = false, wanted_ = false;
};

}  // namespace sublet::apiserver
