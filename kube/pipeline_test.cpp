#include "sublet/kube/pipeline.h"

#include <gtest/gtest.h>

#include <future>

#include "kube/scripted_transport_testing.h"

namespace sublet::kube {
namespace {

class PipelineTest : public testing::Test {
 protected:
  PipelineTest() : loop_("pipeline-test"), transport_(std::make_shared<ScriptedTransport>()), client_(transport_) {}
  net::Request request(const std::string& name) const { return client_.remove_request({"", "v1", "pods"}, "n", name); }
  static std::string name_of(const std::shared_ptr<ScriptedCall>& call) {
    return call->request.target.substr(call->request.target.rfind('/') + 1);
  }

  net::LoopThread loop_;
  std::shared_ptr<ScriptedTransport> transport_;
  Client client_;
};

TEST_F(PipelineTest, KeepsItsLimitAndPrefersTheUrgent) {
  Pipeline pipeline(loop_.loop(), client_, 1);
  pipeline.send(request("first"), {});
  auto first = transport_->next();
  pipeline.send(request("event"), {}, Pipeline::Line::background);
  pipeline.send(request("bind"), {});
  EXPECT_EQ(pipeline.depth(), 3u);
  EXPECT_TRUE(transport_->quiet_for(std::chrono::milliseconds(20)));
  first->answer(200, "{}");
  auto second = transport_->next();
  EXPECT_EQ(name_of(second), "bind");
  second->answer(200, "{}");
  EXPECT_EQ(name_of(transport_->next()), "event");
}

TEST_F(PipelineTest, GivesAnswersAndErrorsOnTheLoop) {
  Pipeline pipeline(loop_.loop(), client_);
  std::promise<Result<std::string>> good, refused, broken;
  pipeline.send(request("good"), [&](Result<std::string> r) {
    EXPECT_TRUE(loop_.loop().in_loop_thread());
    good.set_value(std::move(r));
  });
  pipeline.send(request("refused"), [&](Result<std::string> r) { refused.set_value(std::move(r)); });
  pipeline.send(request("broken"), [&](Result<std::string> r) { broken.set_value(std::move(r)); });
  transport_->next()->answer(200, R"({"a":1})");
  transport_->next()->answer(409, R"({"kind":"Status","reason":"Conflict","message":"no","code":409})");
  transport_->next()->end(fail(Reason::service_unavailable, "reset"));
  EXPECT_EQ(good.get_future().get().value(), R"({"a":1})");
  EXPECT_TRUE(refused.get_future().get().error().is(Reason::conflict));
  EXPECT_TRUE(broken.get_future().get().error().is(Reason::service_unavailable));
  EXPECT_EQ(pipeline.depth(), 0u);
}

TEST_F(PipelineTest, DestructionCancels) {
  auto pipeline = std::make_unique<Pipeline>(loop_.loop(), client_);
  bool called = false;
  pipeline->send(request("a"), [&](const Result<std::string>&) { called = true; });
  auto call = transport_->next();
  pipeline.reset();
  EXPECT_TRUE(call->cancelled());
  call->answer(200, "{}");
  std::promise<void> turned;
  loop_.loop().post([&] { turned.set_value(); });
  turned.get_future().wait();
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace sublet::kube
