#include "patches/cel/url.h"

#include <algorithm>

#include "patches/cel/text.h"

namespace sublet::patches::cel {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

enum class Mode : std::uint8_t { path, host, query };

// Go's shouldEscape.
bool is_plain(char c, Mode mode) {
  if (is_letter(c) || is_digit(c)) return true;
  if (mode == Mode::host && std::string_view("!$&'()*+,;=:[]<>\"").find(c) != std::string_view::npos) return true;
  if (std::string_view("-_.~").find(c) != std::string_view::npos) return true;
  return mode == Mode::path && std::string_view("$&+,/:=@").find(c) != std::string_view::npos;
}

std::optional<std::string> unescape(std::string_view text, Mode mode, std::string& problem) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      const bool whole = i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
      const bool allowed = whole && (mode != Mode::host || hex_digit(text[i + 1]) >= 8 || text.substr(i, 3) == "%25");
      if (!allowed) {
        problem = "invalid URL escape " + go_quote(text.substr(i, 3));
        return std::nullopt;
      }
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else if (c == '+' && mode == Mode::query) {
      out += ' ';
    } else {
      if (mode == Mode::host && static_cast<unsigned char>(c) < 0x80 && !is_plain(c, mode)) {
        problem = "invalid character " + go_quote(text.substr(i, 1)) + " in host name";
        return std::nullopt;
      }
      out += c;
    }
  }
  return out;
}

std::string escape(std::string_view text, Mode mode) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_plain(c, mode)) {
      out += c;
      continue;
    }
    out += '%';
    out += kHex[static_cast<unsigned char>(c) >> 4];
    out += kHex[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

// Go's validEncoded: is it a path that somebody may have escaped in another way?
bool valid_encoded(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_plain(c, Mode::path) || std::string_view("!'()*;[]%").find(c) != std::string_view::npos;
  });
}

bool valid_port(std::string_view text) {
  return text.empty() || (text[0] == ':' && std::all_of(text.begin() + 1, text.end(), is_digit));
}

bool take_scheme(std::string_view& rest, std::string& scheme, std::string& problem) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (is_letter(c)) continue;
    if (is_digit(c) || c == '+' || c == '-' || c == '.') {
      if (i == 0) return true;
      continue;
    }
    if (c != ':') return true;
    if (i == 0) problem = "missing protocol scheme";
    scheme = rest.substr(0, i);
    std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                   [](char l) { return l >= 'A' && l <= 'Z' ? static_cast<char>(l | 0x20) : l; });
    rest.remove_prefix(i + 1);
    return problem.empty();
  }
  return true;
}

bool take_host(std::string_view text, Url& url, std::string& problem) {
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = text.substr(0, at);
    const bool valid = std::all_of(user.begin(), user.end(), [](char c) {
      return is_letter(c) || is_digit(c) || std::string_view("-._:~!$&'()*+,;=%@").find(c) != std::string_view::npos;
    });
    if (!valid) problem = "net/url: invalid userinfo";
    if (!valid) return false;
    url.user = true;
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.rfind(']');
    if (end == std::string_view::npos) problem = "missing ']' in host";
    if (end == std::string_view::npos) return false;
    port = text.substr(end + 1);
  } else if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    port = text.substr(colon);
  }
  if (!valid_port(port)) {
    problem = "invalid port " + go_quote(port) + " after host";
    return false;
  }
  auto host = unescape(text, Mode::host, problem);
  if (host) url.host = std::move(*host);
  return host.has_value();
}

}  // namespace

std::optional<Url> Url::parse(std::string_view text, std::string& problem) {
  const auto fail = [&](std::string_view why) {
    problem = why;
    return std::nullopt;
  };
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return fail("net/url: invalid control character in URL");
  if (text.empty()) return fail("empty url");
  Url url;
  std::string_view rest = text.substr(0, text.find('#'));
  if (text == "*") {
    url.path = "*";
    return url;
  }
  if (rest.empty()) return fail("invalid URI for request");
  if (!take_scheme(rest, url.scheme, problem)) return std::nullopt;
  if (const std::size_t mark = rest.find('?'); mark != std::string_view::npos) {
    url.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (!rest.starts_with('/')) {
    if (!url.scheme.empty()) return url;  // opaque, as in mailto:x
    return fail("invalid URI for request");
  }
  if ((!url.scheme.empty() || !rest.starts_with("///")) && rest.starts_with("//") && !url.scheme.empty()) {
    const std::size_t end = std::min(rest.find('/', 2), rest.size());
    if (!take_host(rest.substr(2, end - 2), url, problem)) return std::nullopt;
    rest.remove_prefix(end);
  }
  auto path = unescape(rest, Mode::path, problem);
  if (!path) return std::nullopt;
  url.path = std::move(*path);
  if (escape(url.path, Mode::path) != rest) url.raw_path = rest;
  return url;
}

std::string Url::hostname() const {
  std::string_view text = host;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && valid_port(text.substr(colon))) text = text.substr(0, colon);
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  return std::string(text);
}

std::string Url::port() const {
  const std::size_t colon = host.rfind(':');
  return colon != std::string::npos && valid_port(std::string_view(host).substr(colon)) ? host.substr(colon + 1) : "";
}

std::string Url::escaped_path() const {
  std::string problem;
  if (!raw_path.empty() && valid_encoded(raw_path) && unescape(raw_path, Mode::path, problem) == path) return raw_path;
  return path == "*" ? path : escape(path, Mode::path);
}

std::vector<std::pair<std::string, std::vector<std::string>>> Url::parameters() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> all;
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    const std::size_t equals = pair.find('=');
    std::string problem;
    const auto name = unescape(pair.substr(0, equals), Mode::query, problem);
    const auto value =
        unescape(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), Mode::query, problem);
    if (!name || !value) continue;
    const auto known = std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.first == *name; });
    if (known == all.end())
      all.push_back({*name, {*value}});
    else
      known->second.push_back(*value);
  }
  return all;
}

}  // namespace sublet::patches::cel
