#include "dns/zone.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace sublet::dns {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

schema::Document json(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  auto document = schema::Document::parse_json(text);
  EXPECT_TRUE(document) << text;
  return document ? std::move(*document) : schema::Document();
}

class ZoneTest : public testing::Test {
 protected:
  ZoneTest() {
    zone_.put_namespace("team");
    zone_.put_namespace("empty");
    service("web",
            "'clusterIP':'10.96.0.7','clusterIPs':['10.96.0.7','fd00::7'],"
            "'ports':[{'name':'http','port':80},{'port':9},{'name':'ask','port':53,'protocol':'UDP'}]");
    service("db", "'clusterIP':'None','clusterIPs':['None'],'ports':[{'name':'sql','port':5432}]");
    slice("db-1", "db",
          "'ports':[{'name':'sql','port':6543,'protocol':'TCP'}],'endpoints':["
          "{'addresses':['10.0.0.1'],'hostname':'db-0','conditions':{'ready':true}},"
          "{'addresses':['10.0.0.2'],'hostname':'db-1','conditions':{'ready':false}},"
          "{'addresses':['10.0.0.3'],'conditions':{}}]");
    slice("db-2", "db",
          "'addressType':'IPv6','ports':[{'name':'sql','port':6543,'protocol':'TCP'}],'endpoints':["
          "{'addresses':['fd00::1'],'hostname':'db-0'}]");
    service("none", "'clusterIP':'None','ports':[{'name':'p','port':1}]");
  }
  void service(const std::string& name, const std::string& spec) {
    zone_.put_service(json("{'metadata':{'name':'" + name + "','namespace':'team'},'spec':{" + spec + "}}").root());
  }
  void slice(const std::string& name, const std::string& service, const std::string& rest) {
    zone_.put_slice(json("{'metadata':{'name':'" + name +
                         "','namespace':'team','labels':{'kubernetes.io/service-name':'" + service + "'}}," + rest +
                         "}")
                        .root());
  }

  static std::string text(const Record& record) {
    const std::string owner = record.name.empty() ? "" : record.name + " ";
    switch (record.type) {
      case Type::a:
      case Type::aaaa:
        return owner + record.address.text();
      case Type::srv:
        return owner + std::to_string(record.port) + " " + record.target;
      default:
        return owner + record.target;
    }
  }
  // The answers; "NXDOMAIN" alone, or "outside NAME" and "elsewhere" last.
  std::vector<std::string> ask(const std::string& name, Type type = Type::a) {
    answer_.clear();
    std::string outside;
    const auto said = zone_.answer({name, type, 1}, answer_, outside);
    std::vector<std::string> all;
    for (const Record& record : answer_.answers) all.push_back(text(record));
    if (answer_.code == Code::no_such_name) all.push_back("NXDOMAIN");
    if (said == Zone::Said::outside) all.push_back("outside " + outside);
    if (said == Zone::Said::elsewhere) all.push_back("elsewhere");
    return all;
  }

  Zone zone_{"Cluster.Local", Address::parse("10.96.0.10")};
  Answer answer_;
};

TEST_F(ZoneTest, ClusterAddresses) {
  EXPECT_THAT(ask("web.team.svc.cluster.local"), ElementsAre("10.96.0.7"));
  EXPECT_THAT(ask("web.team.svc.cluster.local", Type::aaaa), ElementsAre("fd00::7"));
  EXPECT_THAT(ask("web.team.svc.cluster.local", Type::any), ElementsAre("10.96.0.7", "fd00::7"));
  EXPECT_THAT(answer_.authority, IsEmpty());
  EXPECT_THAT(ask("7.0.96.10.in-addr.arpa", Type::ptr), ElementsAre("web.team.svc.cluster.local"));
  EXPECT_THAT(ask("7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa", Type::ptr),
              ElementsAre("web.team.svc.cluster.local"));
}

TEST_F(ZoneTest, NoSuchNameOrNoSuchRecord) {
  const auto has_soa = [&] { return answer_.authority.size() == 1 && answer_.authority[0].type == Type::soa; };
  for (const char* there : {"cluster.local", "svc.cluster.local", "pod.cluster.local", "team.svc.cluster.local",
                            "empty.svc.cluster.local", "none.team.svc.cluster.local", "_tcp.web.team.svc.cluster.local",
                            "_udp.web.team.svc.cluster.local", "_http._tcp.web.team.svc.cluster.local",
                            "_tcp.db.team.svc.cluster.local", "team.pod.cluster.local", "dns.cluster.local"}) {
    EXPECT_THAT(ask(there), IsEmpty()) << there;
    EXPECT_TRUE(has_soa()) << there;
  }
  for (const char* missing :
       {"x.cluster.local", "x.svc.cluster.local", "x.team.svc.cluster.local", "web.empty.svc.cluster.local",
        "a.web.team.svc.cluster.local", "_sctp.web.team.svc.cluster.local", "_http._udp.web.team.svc.cluster.local",
        "db-1.db.team.svc.cluster.local", "a._http._tcp.web.team.svc.cluster.local", "1-2-3-4.x.pod.cluster.local",
        "1-2-3.team.pod.cluster.local", "a.dns-version.cluster.local"}) {
    EXPECT_THAT(ask(missing), ElementsAre("NXDOMAIN")) << missing;
    EXPECT_TRUE(has_soa()) << missing;
  }
  EXPECT_THAT(ask("web.team.svc.cluster.local", Type::txt), IsEmpty());
  EXPECT_THAT(ask("cluster.local.example.com"), ElementsAre("elsewhere"));
  EXPECT_THAT(ask("xcluster.local"), ElementsAre("elsewhere"));
}

TEST_F(ZoneTest, HeadlessServicesAndTheirPods) {
  EXPECT_THAT(ask("db.team.svc.cluster.local"), UnorderedElementsAre("10.0.0.1", "10.0.0.3"));
  EXPECT_THAT(ask("db.team.svc.cluster.local", Type::aaaa), ElementsAre("fd00::1"));
  EXPECT_THAT(ask("db-0.db.team.svc.cluster.local"), ElementsAre("10.0.0.1"));
  EXPECT_THAT(ask("db-0.db.team.svc.cluster.local", Type::aaaa), ElementsAre("fd00::1"));
  EXPECT_THAT(ask("10-0-0-3.db.team.svc.cluster.local"), ElementsAre("10.0.0.3"));
  EXPECT_THAT(ask("1.0.0.10.in-addr.arpa", Type::ptr), ElementsAre("db-0.db.team.svc.cluster.local"));
  EXPECT_THAT(ask("2.0.0.10.in-addr.arpa", Type::ptr), ElementsAre("elsewhere")) << "not ready";
}

TEST_F(ZoneTest, Ports) {
  EXPECT_THAT(ask("_http._tcp.web.team.svc.cluster.local", Type::srv), ElementsAre("80 web.team.svc.cluster.local"));
  EXPECT_THAT(ask("_ask._udp.web.team.svc.cluster.local", Type::srv), ElementsAre("53 web.team.svc.cluster.local"));
  EXPECT_THAT(ask("_sql._tcp.db.team.svc.cluster.local", Type::srv),
              UnorderedElementsAre("6543 db-0.db.team.svc.cluster.local", "6543 10-0-0-3.db.team.svc.cluster.local"));
  std::vector<std::string> more;
  for (const Record& record : answer_.additional) more.push_back(text(record));
  EXPECT_THAT(more,
              UnorderedElementsAre("db-0.db.team.svc.cluster.local 10.0.0.1", "db-0.db.team.svc.cluster.local fd00::1",
                                   "10-0-0-3.db.team.svc.cluster.local 10.0.0.3"));
  EXPECT_THAT(ask("_p._tcp.none.team.svc.cluster.local", Type::srv), IsEmpty());
}

TEST_F(ZoneTest, ExternalNamesAreFollowed) {
  service("far", "'type':'ExternalName','externalName':'Api.Example.COM.'");
  service("near", "'type':'ExternalName','externalName':'web.team.svc.cluster.local'");
  service("gone", "'type':'ExternalName','externalName':'x.team.svc.cluster.local'");
  service("self", "'type':'ExternalName','externalName':'self.team.svc.cluster.local'");
  EXPECT_THAT(ask("far.team.svc.cluster.local"), ElementsAre("api.example.com", "outside api.example.com"));
  EXPECT_THAT(ask("far.team.svc.cluster.local", Type::cname), ElementsAre("api.example.com"));
  EXPECT_THAT(ask("near.team.svc.cluster.local"),
              ElementsAre("web.team.svc.cluster.local", "web.team.svc.cluster.local 10.96.0.7"));
  EXPECT_THAT(ask("gone.team.svc.cluster.local"), ElementsAre("x.team.svc.cluster.local", "NXDOMAIN"));
  EXPECT_EQ(answer_.authority.size(), 1u);
  EXPECT_THAT(ask("self.team.svc.cluster.local"), testing::SizeIs(9)) << "ends";
  EXPECT_THAT(ask("a.far.team.svc.cluster.local"), ElementsAre("NXDOMAIN"));
}

TEST_F(ZoneTest, PodsByAddressTheVersionAndItself) {
  EXPECT_THAT(ask("10-1-2-3.team.pod.cluster.local"), ElementsAre("10.1.2.3"));
  EXPECT_THAT(ask("fd00--9.team.pod.cluster.local", Type::aaaa), ElementsAre("fd00::9"));
  EXPECT_THAT(ask("10-1-2-3.team.pod.cluster.local", Type::aaaa), IsEmpty());
  EXPECT_THAT(ask("dns-version.cluster.local", Type::txt), ElementsAre("1.1.0"));
  EXPECT_THAT(ask("cluster.local", Type::ns), ElementsAre("ns.dns.cluster.local"));
  EXPECT_THAT(ask("ns.dns.cluster.local"), ElementsAre("10.96.0.10"));
  EXPECT_THAT(ask("cluster.local", Type::soa), ElementsAre("cluster.local"));
}

TEST_F(ZoneTest, WhatGoesIsForgotten) {
  slice("db-1", "db", "'endpoints':[{'addresses':['10.0.0.9'],'hostname':'db-0'}]");
  EXPECT_THAT(ask("db.team.svc.cluster.local"), ElementsAre("10.0.0.9"));
  EXPECT_THAT(ask("1.0.0.10.in-addr.arpa", Type::ptr), ElementsAre("elsewhere"));
  zone_.remove_slice("team", "db-1");
  EXPECT_THAT(ask("db.team.svc.cluster.local"), IsEmpty());
  EXPECT_THAT(ask("9.0.0.10.in-addr.arpa", Type::ptr), ElementsAre("elsewhere"));
  service("web", "'clusterIP':'10.96.0.8'");
  EXPECT_THAT(ask("7.0.96.10.in-addr.arpa", Type::ptr), ElementsAre("elsewhere"));
  EXPECT_THAT(ask("web.team.svc.cluster.local"), ElementsAre("10.96.0.8"));
  zone_.remove_service("team", "web");
  zone_.remove_service("team", "db");
  EXPECT_THAT(ask("web.team.svc.cluster.local"), ElementsAre("NXDOMAIN"));
  EXPECT_THAT(ask("db-0.db.team.svc.cluster.local"), ElementsAre("NXDOMAIN"));
  zone_.remove_namespace("team");
  EXPECT_THAT(ask("team.svc.cluster.local"), ElementsAre("NXDOMAIN"));
}

}  // namespace
}  // namespace sublet::dns
