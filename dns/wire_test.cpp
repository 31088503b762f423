#include "dns/wire.h"

#include <gmock/gmock.h>

#include <cctype>

namespace sublet::dns {
namespace {

using testing::ElementsAre;

std::string unhex(std::string_view hex) {
  std::string bytes;
  int high = -1;
  for (const char one : hex) {
    if (std::isspace(static_cast<unsigned char>(one))) continue;
    const int digit = one <= '9' ? one - '0' : one - 'a' + 10;
    if (high >= 0) bytes += static_cast<char>(high << 4 | digit);
    high = high < 0 ? digit : -1;
  }
  return bytes;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char one : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned char>(one) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(one) & 0xf];
  }
  return text;
}

// dig +noedns Web.Team.svc.x A, id 0x1234
const std::string kPlain = unhex("1234 0100 0001 0000 0000 0000 03576562 045465616d 03737663 0178 00 0001 0001");
// The same with EDNS, 4096 bytes and DO.
const std::string kEdns =
    unhex("1234 0110 0001 0000 0000 0001 03576562 045465616d 03737663 0178 00 0001 0001 00 0029 1000 0000 8000 0000");

Record address(const char* text, std::string name = {}) {
  Record record;
  record.name = std::move(name);
  record.address = *Address::parse(text);
  record.type = record.address.type();
  return record;
}
Record target(Type type, std::string name, std::uint16_t port = 0) {
  Record record;
  record.type = type;
  record.target = std::move(name);
  record.port = port;
  return record;
}

TEST(ParseQuery, ReadsTheQuestionInLowerCase) {
  const auto parsed = parse_query(bytes_of(kPlain));
  ASSERT_TRUE(parsed.good);
  EXPECT_EQ(parsed.query.id, 0x1234);
  EXPECT_TRUE(parsed.query.recursion_desired);
  EXPECT_FALSE(parsed.query.edns);
  EXPECT_EQ(parsed.query.udp_bytes, 512u);
  EXPECT_EQ(parsed.query.question.name, "web.team.svc.x");
  EXPECT_EQ(parsed.query.question.type, Type::a);
  EXPECT_EQ(hex({reinterpret_cast<const char*>(parsed.query.question_bytes.data()), 3}), "035765");
}

TEST(ParseQuery, HeedsEdnsAndClampsItsSize) {
  const auto parsed = parse_query(bytes_of(kEdns));
  ASSERT_TRUE(parsed.good);
  EXPECT_TRUE(parsed.query.edns);
  EXPECT_TRUE(parsed.query.dnssec_ok);
  EXPECT_TRUE(parsed.query.checking_disabled);
  EXPECT_EQ(parsed.query.udp_bytes, kUdpBytesMax);
}

TEST(ParseQuery, SaysWhatIsWrong) {
  const auto error_of = [](std::string message) { return parse_query(bytes_of(message)); };
  std::string answer = kPlain;
  answer[2] = '\x81';
  EXPECT_TRUE(error_of(answer).drop);
  EXPECT_TRUE(error_of(kPlain.substr(0, 11)).drop);
  std::string update = kPlain;
  update[2] = '\x28';
  EXPECT_EQ(error_of(update).error, Code::not_implemented);
  std::string two = kPlain;
  two[5] = 2;
  EXPECT_EQ(error_of(two).error, Code::format_error);
  std::string with_answer = kPlain;
  with_answer[7] = 1;
  EXPECT_EQ(error_of(with_answer).error, Code::format_error);
  EXPECT_EQ(error_of(kPlain.substr(0, kPlain.size() - 1)).error, Code::format_error);
  EXPECT_EQ(error_of(unhex("1234 0100 0001 0000 0000 0000 c00c 0001 0001")).error, Code::format_error) << "a pointer";
  std::string version = kEdns;
  version[version.size() - 5] = 1;
  const auto refused = error_of(version);
  EXPECT_EQ(refused.error, Code::bad_version);
  EXPECT_FALSE(refused.good);
  std::string two_opts = kEdns + kEdns.substr(kEdns.size() - 11);
  two_opts[11] = 2;
  EXPECT_EQ(error_of(two_opts).error, Code::format_error);
  for (const auto& bad : {two, update}) EXPECT_EQ(error_of(bad).query.id, 0x1234);
}

TEST(ParseQuery, StrangeBytesAreNoNameOfOurs) {
  std::string dot_within = kPlain;
  dot_within[14] = '.';
  EXPECT_EQ(parse_query(bytes_of(dot_within)).query.question.name, std::string("w") + kStrange + "b.team.svc.x");
}

TEST(WriteAnswer, PointsToTheQuestionAndToNamesItWrote) {
  const auto parsed = parse_query(bytes_of(kPlain));
  Answer answer;
  answer.answers = {target(Type::srv, "a.b", 80)};
  answer.additional = {address("10.0.0.1", "a.b")};
  EXPECT_EQ(hex(write_answer(parsed.query, answer, 512)),
            hex(unhex("1234 8580 0001 0001 0000 0001 03576562 045465616d 03737663 0178 00 0001 0001"
                      "c00c 0021 0001 00000005 000b 0000 0064 0050 0161 0162 00"
                      "c032 0001 0001 00000005 0004 0a000001")));
}

TEST(WriteAnswer, NegativeAnswersHaveTheSoa) {
  const auto parsed = parse_query(bytes_of(kEdns));
  Answer answer;
  answer.code = Code::no_such_name;
  Record soa = target(Type::soa, "x");
  soa.name = "x";
  answer.authority = {soa};
  const std::string text = write_answer(parsed.query, answer, 512);
  EXPECT_EQ(hex(text.substr(0, 12)), "123485930001000000010001");
  EXPECT_THAT(hex(text), testing::EndsWith("00002904d0000000000000")) << "an OPT, for the query had one";
}

TEST(WriteAnswer, CutsWholeRecordsAndSaysSo) {
  const auto parsed = parse_query(bytes_of(kEdns));
  Answer answer;
  for (int i = 0; i < 100; ++i) answer.answers.push_back(address("10.0.0.1"));
  const std::string text = write_answer(parsed.query, answer, 512);
  EXPECT_LE(text.size(), 512u);
  EXPECT_GT(text.size(), 512u - 16u);
  EXPECT_EQ(text[2] & 0x02, 0x02);
  const auto read = read_addresses(bytes_of(text));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->answers.size(), (512u - 31u - 11u) / 16u);
  EXPECT_EQ(write_answer(parsed.query, answer, kTcpBytesMax)[2] & 0x02, 0);
}

TEST(WriteAnswer, RotatesEqualsBehindTheirAlias) {
  const auto parsed = parse_query(bytes_of(kPlain));
  Answer answer;
  answer.answers = {target(Type::cname, "b.c"), address("10.0.0.1", "b.c"), address("10.0.0.2", "b.c"),
                    address("10.0.0.3", "b.c")};
  const auto read = read_addresses(bytes_of(write_answer(parsed.query, answer, 512, 4)));
  ASSERT_TRUE(read);
  std::vector<std::string> seen;
  for (const auto& record : read->answers)
    seen.push_back(record.type == Type::cname ? record.target : record.address.text());
  EXPECT_THAT(seen, ElementsAre("b.c", "10.0.0.2", "10.0.0.3", "10.0.0.1"));
}

TEST(WriteAnswer, NamesThatCannotBeAreLeftOut) {
  const auto parsed = parse_query(bytes_of(kPlain));
  Answer answer;
  answer.answers = {target(Type::cname, std::string(64, 'a')), target(Type::cname, "a..b")};
  const std::string text = write_answer(parsed.query, answer, 512);
  EXPECT_EQ(text.size(), kPlain.size());
  EXPECT_EQ(text[7], 0);
}

TEST(WriteQuery, HasOnlyWhatIsAsked) {
  const auto parsed = parse_query(bytes_of(kEdns));
  EXPECT_EQ(hex(write_query(parsed.query, 0x4321)),
            hex(unhex("4321 0110 0001 0000 0000 0001 03576562 045465616d 03737663 0178 00 0001 0001"
                      "00 0029 04d0 00008000 0000")));
  const auto plain = parse_query(bytes_of(kPlain));
  EXPECT_EQ(hex(write_query(plain.query, 1, "a.bc")),
            hex(unhex("0001 0100 0001 0000 0000 0000 0161 026263 00 0001 0001")));
}

TEST(Answers, OnlyThatIdAndThatQuestion) {
  const auto parsed = parse_query(bytes_of(kPlain));
  const std::string text = write_bare(parsed.query, Code::ok);
  EXPECT_TRUE(answers(bytes_of(text), 0x1234, parsed.query.question));
  EXPECT_FALSE(answers(bytes_of(text), 0x1235, parsed.query.question));
  EXPECT_FALSE(answers(bytes_of(kPlain), 0x1234, parsed.query.question)) << "no response";
  Question other = parsed.query.question;
  other.name = "web.team.svc.y";
  EXPECT_FALSE(answers(bytes_of(text), 0x1234, other));
}

TEST(ReadAddresses, PointersLeadBackAndEnd) {
  const std::string head = "0001 8180 0001 0001 0000 0000 0161 00 0001 0001";
  EXPECT_TRUE(read_addresses(bytes_of(unhex(head + "c00c 0001 0001 00000001 0004 01020304"))));
  EXPECT_FALSE(read_addresses(bytes_of(unhex(head + "c013 0001 0001 00000001 0004 01020304")))) << "to itself";
  EXPECT_FALSE(read_addresses(bytes_of(unhex(head + "c0ff 0001 0001 00000001 0004 01020304")))) << "forward";
  EXPECT_FALSE(read_addresses(bytes_of(unhex(head + "c00c 0001 0001 00000001 0005 0102030405")))) << "no address";
  EXPECT_FALSE(read_addresses(bytes_of(unhex(head + "c00c 0001 0001 00000001 0004 0102")))) << "cut";
  EXPECT_FALSE(read_addresses(bytes_of(unhex(head + "c00c 0005 0001 00000001 0002 0162 00")))) << "name beyond data";
}

}  // namespace
}  // namespace sublet::dns
