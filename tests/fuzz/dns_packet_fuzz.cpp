// DNS messages as a hostile pod or resolver would send them: whatever the bytes, reading ends; what was understood is
// answered within the size that was allowed, by an answer that fits the question and can be read again.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "dns/wire.h"
#include "dns/zone.h"

namespace {

using namespace sublet;
using dns::Bytes;

Bytes bytes_of(const std::string& text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

const dns::Zone& zone() {
  static const dns::Zone made = [] {
    dns::Zone zone("cluster.local", dns::Address::parse("10.0.0.10"));
    zone.put_namespace("team");
    const auto put = [](const char* json) { return *schema::Document::parse_json(json); };
    zone.put_service(put(R"({"metadata":{"name":"web","namespace":"team"},"spec":{"clusterIP":"10.0.0.1",
      "clusterIPs":["10.0.0.1"],"ports":[{"name":"http","port":80}]}})")
                         .root());
    zone.put_service(put(R"({"metadata":{"name":"db","namespace":"team"},"spec":{"clusterIP":"None"}})").root());
    zone.put_service(put(R"({"metadata":{"name":"far","namespace":"team"},
      "spec":{"type":"ExternalName","externalName":"far.example.com"}})")
                         .root());
    zone.put_slice(put(R"({"metadata":{"name":"db-1","namespace":"team","labels":{"kubernetes.io/service-name":"db"}},
      "ports":[{"name":"sql","port":1}],"endpoints":[{"addresses":["10.0.0.2"],"hostname":"db-0"},
      {"addresses":["10.0.0.3"]}]})")
                       .root());
    return zone;
  }();
  return made;
}

void check_answer(const dns::Query& query, const std::string& text, std::size_t most) {
  if (text.size() > most || !dns::answers(bytes_of(text), query.id, query.question)) std::abort();
  if (dns::parse_query(bytes_of(text)).good) std::abort();  // two servers would answer each other for ever
}

void check_query(Bytes message) {
  const auto parsed = dns::parse_query(message);
  if (parsed.drop) return;
  if (!parsed.good) {
    if (dns::write_bare(parsed.query, parsed.error).size() > dns::kPlainUdpBytes) std::abort();
    return;
  }
  const dns::Query& query = parsed.query;
  dns::Answer answer;
  std::string outside;
  (void)zone().answer(query.question, answer, outside);
  for (const std::size_t most : {query.udp_bytes, dns::kTcpBytesMax}) {
    const std::string text = dns::write_answer(query, answer, most, message.size());
    check_answer(query, text, most);
    if (query.question.type == dns::Type::a && !dns::read_addresses(bytes_of(text))) std::abort();
  }
  const std::string again = dns::write_query(query, query.id);
  const auto reread = dns::parse_query(bytes_of(again));
  if (!reread.good || reread.query.question.name != query.question.name || reread.query.edns != query.edns)
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes message(data, size);
  check_query(message);
  if (const auto found = dns::read_addresses(message)) {
    dns::Query query;
    query.question.name = "a";
    const std::uint8_t question[] = {1, 'a', 0, 0, 1, 0, 1};
    query.question_bytes = question;
    query.question.type = dns::Type::a;
    check_answer(query, dns::write_answer(query, *found, dns::kUdpBytesMax), dns::kUdpBytesMax);
  }
  return 0;
}
