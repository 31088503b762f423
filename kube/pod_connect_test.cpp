#include "sublet/kube/pod_connect.h"

#include <gtest/gtest.h>

#include "kube/headers_testing.h"

namespace sublet::kube {
namespace {

TEST(PodConnect, OfTheQueryOnlyWhatTheSubresourceKnowsCrosses) {
  const std::string query =
      "command=sh&command=-c&command=a%26b&container=c&stdin=true&stdout=1&stderr=true&tty=false&ports=80&x=y&"
      "insecureSkipTLSVerifyBackend=true&path=%2Fetc";
  EXPECT_EQ(allowed_connect_query("exec", query),
            "command=sh&command=-c&command=a%26b&container=c&stdin=true&stdout=true&stderr=true");
  EXPECT_EQ(allowed_connect_query("attach", query), "container=c&stdin=true&stdout=true&stderr=true");
  EXPECT_EQ(allowed_connect_query("portforward", query), "ports=80");
  EXPECT_EQ(allowed_connect_query("exec",
                                  "container=&container=mine&container=injected&command=a&command=&tty=1&tty=0&stdin="),
            "container=mine&command=a&command=&tty=true&stdin=true")
      << "the host reads the first, and with an empty one chooses itself";
  EXPECT_EQ(allowed_connect_query("proxy", query), "");
  EXPECT_EQ(allowed_connect_query("", query), "");
}

TEST(PodConnect, NothingElseOfAPodIsConnectedTo) {
  for (const char* subresource : {"exec", "attach", "portforward"}) EXPECT_TRUE(is_connect_subresource(subresource));
  for (const char* subresource : {"", "proxy", "log", "eviction", "exec/..", "../x", "EXEC"})
    EXPECT_FALSE(is_connect_subresource(subresource)) << subresource;
}

TEST(PodConnect, OfTheHeadersOnlyTheHandshakeCrosses) {
  const net::Headers sent = {{"Host", "x"},
                             {"Authorization", "Bearer secret"},
                             {"Connection", "keep-alive, Upgrade, X-Forwarded-For"},
                             {"upgrade", "SPDY/3.1"},
                             {"X-Stream-Protocol-Version", "v4.channel.k8s.io"},
                             {"X-Stream-Protocol-Version", "v3.channel.k8s.io"},
                             {"X-Remote-User", "admin"},
                             {"Impersonate-User", "admin"},
                             {"Cookie", "a=b"},
                             {"Sec-WebSocket-Key", "k"},
                             {"Sec-WebSocket-Protocol",
                              "base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io,v4.channel.k8s.io"}};
  EXPECT_EQ(headers_text(allowed_upgrade_headers(sent)),
            "Connection=Upgrade;upgrade=SPDY/3.1;X-Stream-Protocol-Version=v4.channel.k8s.io;"
            "X-Stream-Protocol-Version=v3.channel.k8s.io;Sec-WebSocket-Key=k;"
            "Sec-WebSocket-Protocol=v5.channel.k8s.io, v4.channel.k8s.io;");
  EXPECT_EQ(
      headers_text(allowed_upgrade_headers({{"Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.c2V"}})),
      "");
  EXPECT_EQ(headers_text(allowed_upgraded_headers({{"Connection", "Upgrade"},
                                                   {"Upgrade", "websocket"},
                                                   {"Sec-Websocket-Accept", "x"},
                                                   {"Set-Cookie", "a=b"},
                                                   {"Audit-Id", "the host's"}})),
            "Connection=Upgrade;Upgrade=websocket;Sec-Websocket-Accept=x;");
}

TEST(PodConnect, AskingForAnUpgradeTakesBothHeaders) {
  EXPECT_TRUE(asks_for_upgrade({{"Connection", "keep-alive, upgrade"}, {"Upgrade", "websocket"}}));
  EXPECT_FALSE(asks_for_upgrade({{"Connection", "Upgrade"}}));
  EXPECT_FALSE(asks_for_upgrade({{"Upgrade", "websocket"}}));
  EXPECT_FALSE(asks_for_upgrade({{"Connection", "upgrades"}, {"Upgrade", "websocket"}}));
}

}  // namespace
}  // namespace sublet::kube
