// Kubernetes' URL library.
#include "patches/cel/functions.h"
#include "patches/cel/text.h"
#include "patches/cel/url.h"

namespace sublet::patches::cel {

namespace {

class UrlValue final : public Opaque {
 public:
  UrlValue(Url url, std::string text) : url_(std::move(url)), text_(std::move(text)) {}
  Kind kind() const override { return Kind::url; }
  bool equals(const Opaque& other) const override { return text_ == static_cast<const UrlValue&>(other).text_; }
  std::string text() const override { return text_; }
  const Url& url() const { return url_; }

 private:
  Url url_;
  std::string text_;
};

const Url& url_of(const Value& value) { return static_cast<const UrlValue&>(value.as_opaque()).url(); }

Value url(Arguments a, Meter& meter) {
  meter.work(a[0].as_text().size() * 4);
  std::string problem;
  auto parsed = Url::parse(a[0].as_text(), problem);
  if (!parsed)
    return Value::error("URL parse error during conversion from string: parse " + go_quote(a[0].as_text()) + ": " +
                        problem);
  return Value::opaque(std::make_shared<const UrlValue>(std::move(*parsed), std::string(a[0].as_text())));
}

Value is_url_string(Arguments a, Meter& meter) {
  meter.work(a[0].as_text().size() * 4);
  std::string problem;
  return Value::boolean(Url::parse(a[0].as_text(), problem).has_value());
}

Value url_scheme(Arguments a, Meter&) { return Value::string(url_of(a[0]).scheme); }
Value url_host(Arguments a, Meter&) { return Value::string(url_of(a[0]).host); }
Value url_hostname(Arguments a, Meter&) { return Value::string(url_of(a[0]).hostname()); }
Value url_port(Arguments a, Meter&) { return Value::string(url_of(a[0]).port()); }
Value url_escaped_path(Arguments a, Meter& meter) {
  meter.work(url_of(a[0]).path.size() * 4);
  return Value::string(url_of(a[0]).escaped_path());
}

Value url_query(Arguments a, Meter& meter) {
  meter.work(url_of(a[0]).query.size() * 8);
  Map entries;
  for (const auto& [name, values] : url_of(a[0]).parameters()) {
    List items;
    for (const std::string& value : values) items.push_back(Value::string(value));
    entries.emplace_back(Value::string(name), Value::list(std::move(items)));
  }
  return Value::map(std::move(entries));
}

constexpr Overload kUrlOverloads[] = {
    {"url", "string_to_url", "(string) -> url", url, Set::kubernetes},
    {"isURL", "is_url_string", "(string) -> bool", is_url_string, Set::kubernetes},
    {"getScheme", "url_get_scheme", "url.() -> string", url_scheme, Set::kubernetes},
    {"getHost", "url_get_host", "url.() -> string", url_host, Set::kubernetes},
    {"getHostname", "url_get_hostname", "url.() -> string", url_hostname, Set::kubernetes},
    {"getPort", "url_get_port", "url.() -> string", url_port, Set::kubernetes},
    {"getEscapedPath", "url_get_escaped_path", "url.() -> string", url_escaped_path, Set::kubernetes},
    {"getQuery", "url_get_query", "url.() -> map(string, list(string))", url_query, Set::kubernetes},
};

}  // namespace

std::span<const Overload> url_table() { return kUrlOverloads; }

}  // namespace sublet::patches::cel
