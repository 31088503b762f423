// Wire: DNS messages (RFC 1035, 6891), as much of them as a server of its own zone needs.
//
// A query is read as its header, one question and an OPT record: nothing else of it is looked at, and no compression
// pointer is followed. Of an upstream's answer read_addresses() takes CNAME, A and AAAA, each name decompressed in a
// bounded number of steps. Names are dotted text in lower case without the last dot; a dot or a control character
// within a label becomes kStrange, which no name of ours has. Pure; values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sublet::dns {

using Bytes = std::span<const std::uint8_t>;

inline Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

enum class Type : std::uint16_t {
  a = 1,
  ns = 2,
  cname = 5,
  soa = 6,
  ptr = 12,
  hinfo = 13,
  txt = 16,
  aaaa = 28,
  srv = 33,
  opt = 41,
  ixfr = 251,
  axfr = 252,
  any = 255,
};
enum class Code : std::uint16_t {
  ok = 0,
  format_error = 1,
  server_failure = 2,
  no_such_name = 3,
  not_implemented = 4,
  refused = 5,
  bad_version = 16,
};

inline constexpr std::size_t kHeaderBytes = 12, kNameBytesMax = 255, kLabelBytesMax = 63;
inline constexpr std::size_t kPlainUdpBytes = 512;  // without EDNS
inline constexpr std::size_t kUdpBytesMax = 1232;   // what passes everywhere unfragmented (DNS flag day 2020)
inline constexpr std::size_t kTcpBytesMax = 65535;
inline constexpr char kStrange = '\x01';

/// An IPv4 or IPv6 address in network order.
struct Address {
  std::array<std::uint8_t, 16> bytes{};
  std::uint8_t size = 0;  // 4, 16; 0: none
  static std::optional<Address> parse(const std::string& text);
  std::string text() const;
  Type type() const { return size == 4 ? Type::a : Type::aaaa; }
  bool operator==(const Address&) const = default;
  auto operator<=>(const Address&) const = default;
};

struct Question {
  std::string name;  // "" is the root
  Type type{};
  std::uint16_t class_number = 1;  // IN
};

struct Query {
  std::uint16_t id = 0;
  bool recursion_desired = false, checking_disabled = false;
  bool edns = false, dnssec_ok = false;
  std::size_t udp_bytes = kPlainUdpBytes;  // what the client takes over UDP, at most kUdpBytesMax
  Question question;
  Bytes question_bytes;  // within the message: name, type, class
};

/// `query` when it is to be answered; else an error to send (ok: none; drop the message). With an error the id, and the
/// question when there was one, are in `query` all the same.
struct ParsedQuery {
  Query query;
  bool good = false, drop = false;
  Code error = Code::ok;
};
ParsedQuery parse_query(Bytes message);

/// One resource record of ours.
struct Record {
  std::string name;      // "": the question's
  Type type = Type::a;   // a, aaaa, cname, ns, ptr, srv, txt, hinfo, soa
  Address address{};     // a, aaaa
  std::string target{};  // cname, ns, ptr, srv; the text of txt; soa: the zone
  std::uint16_t port = 0;
};

/// What is to be said to a question.
struct Answer {
  Code code = Code::ok;
  bool authoritative = true;
  std::vector<Record> answers{}, authority{}, additional{};
  void clear();
};

inline constexpr std::uint32_t kTtl = 5;  // seconds, as CoreDNS' default: pods come and go

/// Appends to nothing: gives the whole message, at most `bytes_max` long. Records that do not fit are left out whole,
/// and answers among them set the TC bit. `rotation`: with which of the answers of one type it begins.
std::string write_answer(const Query& query, const Answer& answer, std::size_t bytes_max, std::size_t rotation = 0);
/// Only the header, the question, and what is to be known: for errors, and for an upstream's answer that is too long.
std::string write_bare(const Query& query, Code code, bool truncated = false);
/// A question to an upstream: nothing of the client's bytes but the question and what its flags say.
std::string write_query(const Query& query, std::uint16_t id, const std::string& other_name = {});

/// An upstream's answer to `question` under that id: whether it is one.
bool answers(Bytes message, std::uint16_t id, const Question& question);
/// Its CNAME, A and AAAA records and its code; nullopt when it cannot be read.
std::optional<Answer> read_addresses(Bytes message);

}  // namespace sublet::dns
