#include "sublet/kube/pod_proxy.h"

#include <gtest/gtest.h>

#include "kube/headers_testing.h"

namespace sublet::kube {
namespace {

std::string parts_of(const std::string& text) {
  const auto name = parse_proxy_name(text);
  return name ? name->scheme + "|" + name->name + "|" + name->port + "|" + name->text() : "none";
}

// As k8s.io/apimachinery's SplitSchemeNamePort.
TEST(PodProxy, NamesHaveASchemeAndAPort) {
  EXPECT_EQ(parts_of("web"), "|web||web");
  EXPECT_EQ(parts_of("web:80"), "|web|80|web:80");
  EXPECT_EQ(parts_of("web:"), "|web||web");
  EXPECT_EQ(parts_of("https:web:443"), "https|web|443|https:web:443");
  EXPECT_EQ(parts_of("http:web:"), "http|web||http:web:");
  EXPECT_EQ(parts_of(":web:"), "|web||web");
  for (const char* none : {"", ":80", "ftp:web:1", "https::443", "a:b:c:d"}) EXPECT_EQ(parts_of(none), "none") << none;
}

TEST(PodProxy, PathsLeadNowhereElse) {
  EXPECT_EQ(clean_proxy_path(""), "/");
  EXPECT_EQ(clean_proxy_path("/"), "/");
  EXPECT_EQ(clean_proxy_path("/a//b/./c/"), "/a/b/c/");
  EXPECT_EQ(clean_proxy_path("/a/../../../secrets"), "/secrets");
  EXPECT_EQ(clean_proxy_path("/%2e%2e/%2E%2e%2fnodes"), "/nodes");
  EXPECT_EQ(clean_proxy_path("/a%20b%3Fc%0d%0aX"), "/a%20b%3Fc%0D%0AX");
  EXPECT_EQ(clean_proxy_path("/50%/x"), "/50%25/x") << "what is no escape stands for itself";
  EXPECT_EQ(clean_proxy_path(".."), "/");
}

TEST(PodProxy, OnlyACleanTargetIsOne) {
  EXPECT_TRUE(is_proxy_target("/a/b/", "x=%20&y"));
  for (const char* path : {"", "a", "/a//b", "/..", "/a/../b", "/%2e%2e", "/a b", "/a?b"})
    EXPECT_FALSE(is_proxy_target(path, "")) << path;
  for (const char* query : {"a b", "a\r\nX: y", "a#b", "\x7f", "\xc3\xa4"})
    EXPECT_FALSE(is_proxy_target("/", query)) << query;
}

const net::Headers kSent = {{"Host", "x"},
                            {"authorization", "Bearer secret"},
                            {"IMPERSONATE-USER", "admin"},
                            {"Impersonate-Extra-a", "b"},
                            {"X-Remote-Group", "system:masters"},
                            {"X_Remote_User", "system:admin"},
                            {"Audit-ID", "mine"},
                            {"Sublet-Host-X", "y"},
                            {"Connection", "Upgrade, X-Hop"},
                            {"X-Hop", "1"},
                            {"Keep-Alive", "5"},
                            {"TE", "trailers"},
                            {"Transfer-Encoding", "chunked"},
                            {"Content-Length", "7"},
                            {"Expect", "100-continue"},
                            {"Accept-Encoding", "gzip"},
                            {"Upgrade", "websocket"},
                            {"Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.c2Vj, chat"},
                            {"Content-Type", "text/plain"},
                            {"Cookie", "a=b"},
                            {"X-Broken", "a\r\nX-Remote-User: admin"},
                            {"X Broken", "a"}};

TEST(PodProxy, CredentialsAndWhatIsOfTheHopEndHere) {
  EXPECT_EQ(headers_text(proxied_request_headers(kSent, false)),
            "Content-Type=text/plain;Cookie=a=b;Sec-WebSocket-Protocol=chat;");
  EXPECT_EQ(headers_text(proxied_request_headers(kSent, true)),
            "Content-Type=text/plain;Cookie=a=b;Connection=Upgrade;Upgrade=websocket;Sec-WebSocket-Protocol=chat;");
}

TEST(PodProxy, OfAnAnswerWhatThePodSaid) {
  const net::Headers said = {
      {"Content-Type", "text/html"}, {"Connection", "upgrade"}, {"Upgrade", "echo"},
      {"Set-Cookie", "a=b"},         {"Set-Cookie", "c=d"},     {"Audit-Id", "the host's"},
      {"Content-Length", "3"},       {"Location", "/x"},        {"X-Kubernetes-Pf-Flowschema-Uid", "u"}};
  EXPECT_EQ(headers_text(proxied_answer_headers(said, false)),
            "Content-Type=text/html;Set-Cookie=a=b;Set-Cookie=c=d;Location=/x;");
  EXPECT_EQ(headers_text(proxied_answer_headers(said, true)),
            "Content-Type=text/html;Set-Cookie=a=b;Set-Cookie=c=d;Location=/x;Connection=Upgrade;Upgrade=echo;");
}

TEST(PodProxy, LinksAreRewrittenHoweverThePiecesAreCut) {
  const std::string text = "<a href=\"/ns/pod/x\"> /ns/po /ns/pod//ns/ns/pod",
                    wanted = "<a href=\"/T/x\"> /ns/po /T//ns/T";
  for (std::size_t first = 0; first <= text.size(); ++first)
    for (std::size_t second = first; second <= text.size(); ++second) {
      LinkRewriter links("/ns/pod", "/T");
      std::string out = links.put(text.substr(0, first));
      out += links.put(text.substr(first, second - first));
      out += links.put(text.substr(second));
      out += links.end();
      EXPECT_EQ(out, wanted);
    }
  LinkRewriter none;
  EXPECT_EQ(none.put("as it is") + none.end(), "as it is");
}

}  // namespace
}  // namespace sublet::kube
