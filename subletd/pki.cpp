#include "subletd/pki.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "sublet/apiserver/bootstrap.h"
#include "sublet/base/files.h"
#include "sublet/cluster/certificates.h"

namespace sublet::subletd {
namespace {

using net::CertificateRequest;
using net::KeyPair;

constexpr std::chrono::hours kCaLifetime{24 * 3650};
constexpr std::chrono::hours kServerLifetime{24 * 90};
constexpr std::chrono::hours kAdminLifetime{24 * 30};  // it is handed out, by `sublet connect`
constexpr std::chrono::hours kClientLifetime{24 * 30};
// Of a program that reads its own once; it never leaves the folder.
constexpr std::chrono::hours kProgramLifetime{24 * 365};
constexpr int kRenewInLast = 3;  // of its life, a third

Result<std::optional<std::string>> read_if_there(const std::string& path) {
  auto text = read_file(path);
  if (text) return std::optional(std::move(*text));
  if (text.error().is(Reason::not_found)) return std::optional<std::string>();
  return fail(std::move(text.error()));
}

Result<std::optional<KeyPair>> load_pair(const std::string& base) {
  auto certificate = read_if_there(base + ".crt");
  if (!certificate) return fail(certificate.error());
  auto key = read_if_there(base + ".key");
  if (!key) return fail(key.error());
  if (!*certificate || !*key) return std::optional<KeyPair>();
  return std::optional(KeyPair{std::move(**certificate), std::move(**key)});
}

Outcome save_pair(const std::string& base, const KeyPair& pair) {
  // The key first: a certificate without its key would be taken for a whole pair's half and replaced.
  if (auto saved = write_private_file(base + ".key", pair.key_pem); !saved) return saved;
  return write_private_file(base + ".crt", pair.certificate_pem);
}

Result<KeyPair> make_pair(const std::string& base, const CertificateRequest& request, const KeyPair* issuer,
                          Clock& clock) {
  auto pair = net::make_certificate(request, issuer, clock.now());
  if (!pair) return pair;
  if (auto saved = save_pair(base, *pair); !saved) return fail(saved.error());
  return pair;
}

bool ends_soon(const KeyPair& pair, std::chrono::hours lifetime, Clock& clock) {
  const auto end = net::certificate_not_after(pair.certificate_pem);
  return !end || *end < clock.now() + lifetime / kRenewInLast;
}

Result<KeyPair> load_or_make_ca(const std::string& base, const std::string& name, Clock& clock) {
  auto pair = load_pair(base);
  if (!pair) return fail(pair.error());
  if (*pair) return std::move(**pair);
  CertificateRequest request;
  request.common_name = name;
  request.is_ca = true;
  request.lifetime = kCaLifetime;
  return make_pair(base, request, nullptr, clock);
}

Result<KeyPair> load_or_make_leaf(const std::string& base, const CertificateRequest& request, const KeyPair& ca,
                                  bool always, Clock& clock) {
  auto pair = load_pair(base);
  if (!pair) return fail(pair.error());
  if (*pair && !always && !ends_soon(**pair, request.lifetime, clock)) return std::move(**pair);
  return make_pair(base, request, &ca, clock);
}

CertificateRequest administrators_request(const std::string& user, std::chrono::hours lifetime) {
  CertificateRequest request;
  request.common_name = user;
  request.organizations = {std::string(kAdministrators)};
  request.client_auth = true;
  request.lifetime = lifetime;
  return request;
}

bool is_address(const std::string& name) {
  return name.find(':') != std::string::npos || name.find_first_not_of("0123456789.") == std::string::npos;
}

CertificateRequest server_request(const std::vector<std::string>& names) {
  CertificateRequest request;
  request.common_name = "apiserver";
  request.server_auth = true;
  request.lifetime = kServerLifetime;
  for (const auto& name : names) (is_address(name) ? request.ip_addresses : request.dns_names).push_back(name);
  return request;
}

Result<std::string> load_or_make_key(const std::string& path) {
  auto key = read_if_there(path);
  if (!key) return fail(key.error());
  if (*key) return std::move(**key);
  auto made = net::make_key();
  if (!made) return made;
  if (auto saved = write_private_file(path, *made); !saved) return fail(saved.error());
  return made;
}

Result<std::vector<std::string>> load_old_keys(const std::string& folder) {
  std::vector<std::string> paths, keys;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (const auto name = entry.path().filename().string(); name.starts_with("sa-") && name.ends_with(".key"))
      paths.push_back(entry.path());
  if (error) return internal_error(folder + ": " + error.message());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    auto key = read_file(path);
    if (!key) return fail(key.error());
    keys.push_back(std::move(*key));
  }
  return keys;
}

// Notes which names the server's certificate covers; true when they changed.
Result<bool> names_changed(const std::string& path, const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += name + "\n";
  auto known = read_if_there(path);
  if (!known) return fail(known.error());
  if (*known && **known == text) return false;
  if (auto saved = write_private_file(path, text); !saved) return fail(saved.error());
  return true;
}

using Administrators = std::map<std::string, std::int64_t>;  // by digest; when they end

Administrators parse_administrators(std::string_view text) {
  Administrators all;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto space = line.find(' ');
    if (space == std::string_view::npos) continue;
    std::int64_t end = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), end);
    all.emplace(line.substr(0, space), end);
  }
  return all;
}

// Those that are known and have not ended, with the present ones.
Result<std::vector<std::string>> note_administrators(const std::string& path, const Pki& pki, Clock& clock) {
  auto known = read_if_there(path);
  if (!known) return fail(known.error());
  Administrators all = parse_administrators(known->value_or(""));
  const auto now = std::chrono::system_clock::to_time_t(clock.now());
  std::erase_if(all, [now](const auto& one) { return one.second < now; });
  const auto add = [&](const KeyPair& pair) {
    if (const auto end = net::certificate_not_after(pair.certificate_pem))
      all.emplace(net::certificate_sha256(pair.certificate_pem), std::chrono::system_clock::to_time_t(*end));
  };
  add(pki.admin);
  if (pki.controllers) add(*pki.controllers);
  std::string text;
  std::vector<std::string> digests;
  for (const auto& [digest, end] : all) {
    text += digest + " " + std::to_string(end) + "\n";
    digests.push_back(digest);
  }
  if (known->value_or("") != text)
    if (auto saved = write_private_file(path, text); !saved) return fail(saved.error());
  return digests;
}

// Its certificate lasts as long as its CA: neither leaves the folder.
Outcome load_or_make_front_proxy(const std::string& folder, Pki& pki, Clock& clock) {
  const auto ca = load_or_make_ca(folder + "/front-proxy-ca", "sublet-front-proxy-ca", clock);
  if (!ca) return fail(ca.error());
  CertificateRequest request;
  request.common_name = apiserver::kFrontProxyName;
  request.client_auth = true;
  request.lifetime = kCaLifetime;
  auto own = load_or_make_leaf(folder + "/front-proxy", request, *ca, false, clock);
  if (!own) return fail(own.error());
  pki.front_proxy_ca_pem = ca->certificate_pem;
  pki.front_proxy = std::move(*own);
  return {};
}

}  // namespace

Result<KeyPair> load_or_make_client(const std::string& folder, const std::string& name, const std::string& user,
                                    const KeyPair& ca, Clock& clock) {
  CertificateRequest request;
  request.common_name = user;
  request.client_auth = true;
  request.lifetime = kClientLifetime;
  return load_or_make_leaf(folder + "/" + name, request, ca, false, clock);
}

Result<Pki> load_or_make_pki(const PkiRequest& request, Clock& clock) {
  const auto& [folder, names, controllers] = request;
  Pki pki;
  auto ca = load_or_make_ca(folder + "/ca", "sublet-ca", clock);
  if (!ca) return fail(ca.error());
  pki.ca = std::move(*ca);
  auto changed = names_changed(folder + "/apiserver.names", names);
  if (!changed) return fail(changed.error());
  auto server = load_or_make_leaf(folder + "/apiserver", server_request(names), pki.ca, *changed, clock);
  if (!server) return fail(server.error());
  pki.server = std::move(*server);
  auto admin = load_or_make_leaf(folder + "/admin", administrators_request("kubernetes-admin", kAdminLifetime), pki.ca,
                                 false, clock);
  if (!admin) return fail(admin.error());
  pki.admin = std::move(*admin);
  if (controllers) {
    auto own =
        load_or_make_leaf(folder + "/controllers", administrators_request("kubernetes-controllers", kProgramLifetime),
                          pki.ca, false, clock);
    if (!own) return fail(own.error());
    pki.controllers = std::move(*own);
  }
  if (auto made = load_or_make_front_proxy(folder, pki, clock); !made) return fail(made.error());
  auto administrators = note_administrators(cluster::administrators_path(folder), pki, clock);
  if (!administrators) return fail(administrators.error());
  pki.administrators = std::move(*administrators);
  auto key = load_or_make_key(folder + "/sa.key");
  if (!key) return fail(key.error());
  pki.service_account_key_pem = std::move(*key);
  auto old = load_old_keys(folder);
  if (!old) return fail(old.error());
  pki.old_service_account_keys_pem = std::move(*old);
  return pki;
}

}  // namespace sublet::subletd
