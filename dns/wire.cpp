// Map of this file: addresses, reading, queries, writing, what an upstream says.
#include "dns/wire.h"

#include <arpa/inet.h>

#include <algorithm>

namespace sublet::dns {
namespace {

constexpr std::uint16_t kIn = 1;
constexpr int kExtraRecordsMax = 8;  // of a query: an OPT, perhaps a TSIG or a cookie beside it
constexpr int kPointersMax = 32;     // of one name
constexpr int kAnswersMax = 256;     // of an upstream's answer
constexpr std::uint32_t kRefresh = 7200, kRetry = 1800, kExpire = 86400;

// Bits of the header's second word.
constexpr std::uint16_t kResponse = 0x8000, kOpcode = 0x7800, kAuthoritative = 0x0400, kTruncated = 0x0200,
                        kRecursionDesired = 0x0100, kRecursionAvailable = 0x0080, kCheckingDisabled = 0x0010;
constexpr std::uint32_t kDnssecOk = 0x8000;  // in an OPT's TTL

char in_text(std::uint8_t byte) {
  if (byte >= 'A' && byte <= 'Z') return static_cast<char>(byte - 'A' + 'a');
  return byte <= ' ' || byte >= 0x7f || byte == '.' ? kStrange : static_cast<char>(byte);
}

/// Reads forward through a message; after the first read beyond its end nothing is good any more.
class Reader {
 public:
  explicit Reader(Bytes message, std::size_t at = 0) : message_(message), at_(at) {}
  bool good() const { return good_; }
  std::size_t at() const { return at_; }

  std::uint8_t byte() {
    if (at_ >= message_.size()) return fail<std::uint8_t>();
    return message_[at_++];
  }
  std::uint16_t word() {
    const auto high = byte();
    return static_cast<std::uint16_t>(high << 8 | byte());
  }
  std::uint32_t long_word() {
    const std::uint32_t high = word();
    return high << 16 | word();
  }
  void skip(std::size_t bytes) {
    if (!good_ || message_.size() - at_ < bytes) {
      fail<int>();
      return;
    }
    at_ += bytes;
  }
  Bytes take(std::size_t bytes) {
    const std::size_t from = at_;
    skip(bytes);
    return good_ ? message_.subspan(from, bytes) : Bytes();
  }
  /// Pointers are an error unless `pointers`: then they must lead back.
  std::string name(bool pointers) {
    std::string text;
    std::size_t bytes = 1, limit = at_;
    std::size_t* place = &at_;
    std::size_t elsewhere = 0;
    for (int jumps = 0; good_;) {
      if (*place >= message_.size()) return fail<std::string>();
      const std::uint8_t length = message_[(*place)++];
      if (length == 0) return text;
      if ((length & 0xc0) == 0xc0) {
        if (!pointers || ++jumps > kPointersMax || *place >= message_.size()) return fail<std::string>();
        const std::size_t target = static_cast<std::size_t>(length & 0x3f) << 8 | message_[(*place)++];
        if (target >= limit) return fail<std::string>();
        limit = elsewhere = target;
        place = &elsewhere;
        continue;
      }
      if (length > kLabelBytesMax || message_.size() - *place < length || (bytes += length + 1u) > kNameBytesMax)
        return fail<std::string>();
      if (!text.empty()) text += '.';
      for (const std::uint8_t one : message_.subspan(*place, length)) text += in_text(one);
      *place += length;
    }
    return {};
  }

 private:
  template <class T>
  T fail() {
    good_ = false;
    at_ = message_.size();
    return T();
  }
  Bytes message_;
  std::size_t at_;
  bool good_ = true;
};

}  // namespace

// Addresses
// ------------------------------------------------------------------------------------------------------------

std::optional<Address> Address::parse(const std::string& text) {
  Address address;
  if (inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1)
    address.size = 4;
  else if (inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1)
    address.size = 16;
  else
    return std::nullopt;
  return address;
}

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  inet_ntop(size == 4 ? AF_INET : AF_INET6, bytes.data(), buffer.data(), buffer.size());
  return buffer.data();
}

void Answer::clear() {
  code = Code::ok;
  authoritative = true;
  answers.clear();
  authority.clear();
  additional.clear();
}

// Queries
// --------------------------------------------------------------------------------------------------------------

namespace {

// The records after the question: an OPT among them is heeded, others are passed over. False: they cannot be read.
bool read_extras(Reader& reader, std::uint16_t count, ParsedQuery& parsed) {
  if (count > kExtraRecordsMax) return false;
  for (; count > 0; --count) {
    const bool root = reader.name(true).empty();
    const auto type = static_cast<Type>(reader.word());
    const std::uint16_t class_number = reader.word();
    const std::uint32_t ttl = reader.long_word();
    reader.skip(reader.word());
    if (!reader.good()) return false;
    if (type != Type::opt) continue;
    if (parsed.query.edns || !root) return false;
    parsed.query.edns = true;
    parsed.query.dnssec_ok = (ttl & kDnssecOk) != 0;
    parsed.query.udp_bytes = std::clamp<std::size_t>(class_number, kPlainUdpBytes, kUdpBytesMax);
    if ((ttl >> 16 & 0xff) != 0) parsed.error = Code::bad_version;
  }
  return true;
}

}  // namespace

ParsedQuery parse_query(Bytes message) {
  ParsedQuery parsed;
  Query& query = parsed.query;
  Reader reader(message);
  query.id = reader.word();
  const std::uint16_t flags = reader.word();
  const std::uint16_t questions = reader.word(), answers = reader.word(), authorities = reader.word(),
                      additionals = reader.word();
  if (!reader.good() || (flags & kResponse) != 0) {
    parsed.drop = true;  // an answer to an answer would go round for ever
    return parsed;
  }
  query.recursion_desired = (flags & kRecursionDesired) != 0;
  query.checking_disabled = (flags & kCheckingDisabled) != 0;
  parsed.error = Code::format_error;
  if ((flags & kOpcode) != 0) {
    parsed.error = Code::not_implemented;
    return parsed;
  }
  if (questions != 1 || answers != 0 || authorities != 0) return parsed;
  const std::size_t from = reader.at();
  query.question.name = reader.name(false);
  query.question.type = static_cast<Type>(reader.word());
  query.question.class_number = reader.word();
  if (!reader.good()) return parsed;
  query.question_bytes = message.subspan(from, reader.at() - from);
  parsed.error = Code::ok;
  if (!read_extras(reader, additionals, parsed)) parsed.error = Code::format_error;
  parsed.good = parsed.error == Code::ok;
  return parsed;
}

// Writing
// --------------------------------------------------------------------------------------------------------------

namespace {

/// A message under construction. Names that were written whole once are pointed to afterwards.
class Writer {
 public:
  Writer(const Query& query, Code code, bool authoritative, std::size_t bytes_max) : bytes_max_(bytes_max) {
    text_.reserve(kPlainUdpBytes);
    flags_ = static_cast<std::uint16_t>(kResponse | kRecursionAvailable | (authoritative ? kAuthoritative : 0) |
                                        (query.recursion_desired ? kRecursionDesired : 0) |
                                        (query.checking_disabled ? kCheckingDisabled : 0) |
                                        (static_cast<std::uint16_t>(code) & 0xf));
    word(query.id);
    text_.append(kHeaderBytes - 2, '\0');
    if (query.question_bytes.empty()) return;
    counts_[0] = 1;
    text_.append(reinterpret_cast<const char*>(query.question_bytes.data()), query.question_bytes.size());
    has_question_ = true;
  }

  /// Section 1 is of answers, 2 authority, 3 additional. False: it does not fit, and nothing was written.
  bool put(int section, const Record& record) {
    const std::size_t before = text_.size(), names = names_.size();
    bool good = owner(record.name);
    word(static_cast<std::uint16_t>(record.type));
    word(kIn);
    long_word(kTtl);
    const std::size_t length_at = text_.size();
    word(0);
    good = good && data(record);
    if (!good || text_.size() > bytes_max_ - reserved_) {
      text_.resize(before);
      names_.resize(names);
      return false;
    }
    patch(length_at, static_cast<std::uint16_t>(text_.size() - length_at - 2));
    ++counts_[section];
    return true;
  }
  void reserve_opt(bool wanted) { reserved_ = wanted ? kOptBytes : 0; }
  void put_opt(Code code) {
    text_ += '\0';
    word(static_cast<std::uint16_t>(Type::opt));
    word(kUdpBytesMax);
    long_word(static_cast<std::uint32_t>(static_cast<std::uint16_t>(code) >> 4) << 24);
    word(0);
    ++counts_[3];
  }
  void truncated() { flags_ |= kTruncated; }
  std::string finish() {
    patch(2, flags_);
    for (std::size_t i = 0; i < counts_.size(); ++i) patch(4 + 2 * i, counts_[i]);
    return std::move(text_);
  }

 private:
  static constexpr std::size_t kOptBytes = 11;

  void word(std::uint16_t value) {
    text_ += static_cast<char>(value >> 8);
    text_ += static_cast<char>(value & 0xff);
  }
  void long_word(std::uint32_t value) {
    word(static_cast<std::uint16_t>(value >> 16));
    word(static_cast<std::uint16_t>(value & 0xffff));
  }
  void patch(std::size_t at, std::uint16_t value) {
    text_[at] = static_cast<char>(value >> 8);
    text_[at + 1] = static_cast<char>(value & 0xff);
  }
  bool owner(const std::string& name) {
    if (name.empty() && has_question_) return point_to(kHeaderBytes);
    for (const auto& [known, at] : names_)
      if (known == name) return point_to(at);
    return whole_name(name);
  }
  bool point_to(std::size_t at) {
    word(static_cast<std::uint16_t>(0xc000 | at));
    return true;
  }
  bool whole_name(std::string_view name) {
    if (text_.size() < 0x4000) names_.emplace_back(std::string(name), text_.size());
    const std::size_t from = text_.size();
    while (!name.empty()) {
      const auto dot = std::min(name.find('.'), name.size());
      if (dot == 0 || dot > kLabelBytesMax) return false;
      text_ += static_cast<char>(dot);
      text_ += name.substr(0, dot);
      name.remove_prefix(std::min(dot + 1, name.size()));
    }
    text_ += '\0';
    return text_.size() - from <= kNameBytesMax;
  }
  void characters(std::string_view text) {
    text = text.substr(0, 255);
    text_ += static_cast<char>(text.size());
    text_ += text;
  }
  bool data(const Record& record) {
    switch (record.type) {
      case Type::a:
      case Type::aaaa:
        text_.append(reinterpret_cast<const char*>(record.address.bytes.data()), record.address.size);
        return true;
      case Type::srv:
        word(0);    // priority
        word(100);  // weight
        word(record.port);
        return whole_name(record.target);
      case Type::txt:
        characters(record.target);
        return true;
      case Type::hinfo:
        characters(record.target);
        characters("");
        return true;
      case Type::soa:
        if (!whole_name("ns.dns." + record.target) || !whole_name("hostmaster." + record.target)) return false;
        for (const std::uint32_t value : {1u, kRefresh, kRetry, kExpire, kTtl}) long_word(value);
        return true;
      default:
        return whole_name(record.target);
    }
  }

  std::string text_;
  std::uint16_t flags_ = 0;
  std::array<std::uint16_t, 4> counts_{};
  bool has_question_ = false;
  std::vector<std::pair<std::string, std::size_t>> names_;
  std::size_t bytes_max_, reserved_ = 0;
};

// Answers of one type are equal among each other: every client starts with another of them. What leads to them (CNAME)
// stays in front.
std::size_t rotated(const std::vector<Record>& answers, std::size_t i, std::size_t rotation) {
  std::size_t fixed = 0;
  while (fixed < answers.size() && answers[fixed].type == Type::cname) ++fixed;
  return i < fixed ? i : fixed + (i - fixed + rotation) % (answers.size() - fixed);
}

}  // namespace

std::string write_answer(const Query& query, const Answer& answer, std::size_t bytes_max, std::size_t rotation) {
  Writer writer(query, answer.code, answer.authoritative, bytes_max);
  writer.reserve_opt(query.edns);
  bool fits = true;
  for (std::size_t i = 0; fits && i < answer.answers.size(); ++i)
    fits = writer.put(1, answer.answers[rotated(answer.answers, i, rotation)]);
  if (!fits) writer.truncated();
  for (std::size_t i = 0; fits && i < answer.authority.size(); ++i) fits = writer.put(2, answer.authority[i]);
  for (std::size_t i = 0; fits && i < answer.additional.size(); ++i) fits = writer.put(3, answer.additional[i]);
  if (query.edns) writer.put_opt(answer.code);
  return writer.finish();
}

std::string write_bare(const Query& query, Code code, bool truncated) {
  Writer writer(query, code, false, kPlainUdpBytes);
  if (truncated) writer.truncated();
  if (query.edns) writer.put_opt(code);
  return writer.finish();
}

std::string write_query(const Query& query, std::uint16_t id, const std::string& other_name) {
  std::string text;
  const auto word = [&](unsigned value) {
    text += static_cast<char>(value >> 8 & 0xff);
    text += static_cast<char>(value & 0xff);
  };
  word(id);
  word(kRecursionDesired | (query.checking_disabled ? kCheckingDisabled : 0));
  word(1);
  word(0);
  word(0);
  word(query.edns ? 1 : 0);
  if (other_name.empty()) {
    text.append(reinterpret_cast<const char*>(query.question_bytes.data()), query.question_bytes.size());
  } else {
    for (std::string_view rest = other_name; !rest.empty();) {
      const auto dot = std::min({rest.find('.'), rest.size(), kLabelBytesMax});
      text += static_cast<char>(dot);
      text += rest.substr(0, dot);
      rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
    text += '\0';
    word(static_cast<unsigned>(query.question.type));
    word(kIn);
  }
  if (!query.edns) return text;
  text += '\0';
  word(static_cast<unsigned>(Type::opt));
  word(kUdpBytesMax);
  word(0);
  word(query.dnssec_ok ? kDnssecOk : 0);
  word(0);
  return text;
}

// What an upstream says
// -------------------------------------------------------------------------------------------------

bool answers(Bytes message, std::uint16_t id, const Question& question) {
  Reader reader(message);
  const std::uint16_t its_id = reader.word(), flags = reader.word(), questions = reader.word();
  reader.skip(6);
  if (!reader.good() || its_id != id || (flags & kResponse) == 0 || (flags & kOpcode) != 0 || questions != 1)
    return false;
  const std::string name = reader.name(false);
  const auto type = static_cast<Type>(reader.word());
  const std::uint16_t class_number = reader.word();
  return reader.good() && name == question.name && type == question.type && class_number == question.class_number;
}

std::optional<Answer> read_addresses(Bytes message) {
  Reader reader(message);
  reader.skip(2);
  const std::uint16_t flags = reader.word(), questions = reader.word(), count = reader.word();
  reader.skip(4);
  if (!reader.good() || questions != 1 || count > kAnswersMax) return std::nullopt;
  reader.name(false);
  reader.skip(4);
  Answer answer;
  answer.code = static_cast<Code>(flags & 0xf);
  answer.authoritative = false;
  for (int i = 0; i < count; ++i) {
    Record record;
    record.name = reader.name(true);
    record.type = static_cast<Type>(reader.word());
    const bool in = reader.word() == kIn;
    reader.skip(4);
    const std::size_t length = reader.word(), from = reader.at();
    if (record.type == Type::cname) {
      record.target = reader.name(true);
      if (reader.at() != from + length) return std::nullopt;
    } else {
      const Bytes data = reader.take(length);
      record.address.size = static_cast<std::uint8_t>(record.type == Type::a ? 4 : 16);
      if (record.type != Type::a && record.type != Type::aaaa) continue;
      if (data.size() != record.address.size) return std::nullopt;
      std::copy(data.begin(), data.end(), record.address.bytes.begin());
    }
    if (!reader.good()) return std::nullopt;
    if (in) answer.answers.push_back(std::move(record));
  }
  return reader.good() ? std::optional(std::move(answer)) : std::nullopt;
}

}  // namespace sublet::dns
