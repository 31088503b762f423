#include "simhost/shell/tar.h"

#include <algorithm>
#include <charconv>

namespace sublet::simhost::shell {
namespace {

// The ustar header (POSIX.1-1988): places and sizes of its fields.
constexpr std::size_t kBlock = 512, kNameSize = 100, kSizeAt = 124, kModifiedAt = 136, kChecksumAt = 148, kTypeAt = 156,
                      kMagicAt = 257, kPrefixAt = 345, kPrefixSize = 155;
constexpr char kFile = '0', kFolder = '5', kLongName = 'L', kPax = 'x';

std::string octal(std::uint64_t value, std::size_t digits) {
  std::string out(digits, '0');
  for (std::size_t at = digits; at-- > 0 && value > 0; value >>= 3) out[at] = static_cast<char>('0' + (value & 7));
  return out;
}

std::size_t padded(std::size_t size) { return (size + kBlock - 1) / kBlock * kBlock; }

unsigned checksum(std::string_view header) {
  unsigned sum = 0;
  for (std::size_t at = 0; at < header.size(); ++at) {
    const bool own = at >= kChecksumAt && at < kChecksumAt + 8;  // its own field counts as blanks
    sum += own ? ' ' : static_cast<unsigned char>(header[at]);
  }
  return sum;
}

void append_entry(std::string& out, std::string_view name, std::string_view content, char type, WallTime modified) {
  if (name.size() > kNameSize) append_entry(out, "././@LongLink", std::string(name) + '\0', kLongName, modified);
  std::string header(kBlock, '\0');
  const auto put = [&header](std::size_t at, std::string_view text) { header.replace(at, text.size(), text); };
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(modified.time_since_epoch()).count();
  put(0, name.substr(0, kNameSize));
  put(100, type == kFolder ? "0000755" : "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(kSizeAt, octal(content.size(), 11));
  put(kModifiedAt, octal(static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0)), 11));
  header[kTypeAt] = type;
  put(kMagicAt, std::string_view("ustar\00000", 8));
  put(kChecksumAt, octal(checksum(header), 6) + '\0' + ' ');
  out.append(header).append(content).append(padded(content.size()) - content.size(), '\0');
}

std::string_view text_field(std::string_view header, std::size_t at, std::size_t size) {
  const std::string_view field = header.substr(at, size);
  return field.substr(0, field.find('\0'));
}

std::size_t octal_field(std::string_view header, std::size_t at) {
  std::size_t out = 0;
  for (const char c : header.substr(at, 11)) {
    if (c == ' ') continue;
    if (c < '0' || c > '7') break;
    out = out * 8 + static_cast<std::size_t>(c - '0');
  }
  return out;
}

/// The path of a pax header's records, each "LENGTH KEY=VALUE\n".
std::string pax_path(std::string_view records) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(end - records.data());
    if (error != std::errc() || length < digits + 2 || length > records.size()) break;
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    if (record.starts_with("path=")) return std::string(record.substr(5));
    records.remove_prefix(length);
  }
  return {};
}

struct Options {
  char mode = 0;  // 'c', 'x', 't'
  std::string file = "-", folder = ".", mistake{};
  Words paths{};
};

Options read_options(const Words& words) {
  Options out;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool cluster = words[i].size() > 1 && words[i][0] == '-' && words[i][1] != '-';
    if (words[i].starts_with("--")) continue;
    if (!cluster && i > 1) {
      out.paths.push_back(words[i]);
      continue;
    }
    for (const char flag : words[i].substr(cluster)) {
      if (flag == 'c' || flag == 'x' || flag == 't') out.mode = flag;
      if (flag == 'z' || flag == 'j' || flag == 'J') out.mistake = "compressed archives are not simulated";
      if (flag != 'f' && flag != 'C') continue;
      if (++i >= words.size()) return out.mistake = "option requires an argument", out;
      (flag == 'f' ? out.file : out.folder) = words[i];
    }
  }
  if (out.mode == 0 && out.mistake.empty()) out.mistake = "one of -c, -x and -t is required";
  return out;
}

std::string member_name(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  return std::string(path);
}

Flow create(Interpreter& shell, const Options& options) {
  const Files& files = shell.world().files;
  std::vector<ArchiveEntry> entries;
  bool good = true, stripped = false;
  for (const std::string& named : options.paths) {
    const std::string path = shell.absolute(named);
    stripped = stripped || named.starts_with('/');
    if (auto content = files.read(path, shell.now())) {
      entries.push_back({member_name(named), std::move(*content)});
      continue;
    }
    if (!files.is_folder(path, shell.now())) {
      shell.complain("tar", named + ": No such file or directory");
      good = false;
      continue;
    }
    entries.push_back({member_name(named) + "/", ""});
    const std::string base = path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
    for (const std::string& inside : files.list(path, shell.now())) {
      if (inside.size() <= base.size()) continue;
      const std::string name = member_name(named + inside.substr(base.size()));
      const bool is_folder = name.ends_with("/.");
      entries.push_back({is_folder ? name.substr(0, name.size() - 1) : name,
                         is_folder ? "" : files.read(inside, shell.now()).value_or("")});
    }
  }
  if (stripped) shell.complain("tar", "removing leading '/' from member names");
  const std::string archive = write_archive(entries, shell.now());
  shell.charge(archive.size());
  if (options.file == "-")
    shell.print_bytes(archive);
  else if (!shell.world().files.write(shell.absolute(options.file), archive, shell.now())) {
    shell.complain("tar", "write error: No space left on device");
    good = false;
  }
  return shell.set_status(good ? 0 : 1), Flow::next;
}

Flow unpack(Interpreter& shell, const Options& options, const std::vector<ArchiveEntry>& entries) {
  bool good = true;
  for (const ArchiveEntry& entry : entries) {
    const std::string path = shell.absolute(member_name(entry.path));
    const bool is_folder = entry.path.ends_with('/');
    if (options.mode == 't') {
      shell.print(entry.path + "\n");
    } else if (!is_folder || !shell.world().files.is_folder(path, shell.now())) {
      good = shell.world().files.write(is_folder ? path + "/." : path, entry.content, shell.now()) && good;
    }
  }
  if (!good) shell.complain("tar", "write error: No space left on device");
  return shell.set_status(good ? 0 : 1), Flow::next;
}

}  // namespace

std::string write_archive(const std::vector<ArchiveEntry>& entries, WallTime modified) {
  std::string out;
  for (const ArchiveEntry& entry : entries)
    append_entry(out, entry.path, entry.content, entry.path.ends_with('/') ? kFolder : kFile, modified);
  return out.append(2 * kBlock, '\0');
}

Result<std::vector<ArchiveEntry>> read_archive(std::string_view archive) {
  std::vector<ArchiveEntry> out;
  std::string long_name;
  while (archive.size() >= kBlock) {
    const std::string_view header = archive.substr(0, kBlock);
    if (header.find_first_not_of('\0') == std::string_view::npos) return out;
    if (octal_field(header, kChecksumAt) != checksum(header)) return bad_request("invalid tar magic");
    const std::size_t size = octal_field(header, kSizeAt);
    if (size > archive.size() - kBlock) return bad_request("short read");
    const std::string_view content = archive.substr(kBlock, size);
    archive.remove_prefix(std::min(archive.size(), kBlock + padded(size)));
    const char type = header[kTypeAt];
    if (type == kLongName) long_name = content.substr(0, content.find('\0'));
    if (type == kPax) long_name = pax_path(content);
    if (type != kFile && type != '\0' && type != kFolder) continue;
    std::string path = std::exchange(long_name, {});
    if (path.empty()) {
      const std::string_view prefix = header.substr(kMagicAt, 6) == std::string_view("ustar\0", 6)
                                          ? text_field(header, kPrefixAt, kPrefixSize)
                                          : std::string_view();
      path = std::string(prefix) + (prefix.empty() ? "" : "/") + std::string(text_field(header, 0, kNameSize));
    }
    if (type == kFolder && !path.ends_with('/')) path += '/';
    out.push_back({std::move(path), std::string(content)});
  }
  return archive.empty() ? Result<std::vector<ArchiveEntry>>(std::move(out)) : bad_request("short read");
}

Flow do_tar(Interpreter& shell, const Words& words) {
  const Options options = read_options(words);
  const auto fail_with = [&shell](std::string_view why) {
    shell.complain("tar", why);
    return shell.set_status(1), Flow::next;
  };
  if (!options.mistake.empty()) return fail_with(options.mistake);
  const std::string before = shell.directory();
  std::optional<std::string> archive;
  if (options.mode != 'c') {
    archive =
        options.file == "-" ? shell.read_all() : shell.world().files.read(shell.absolute(options.file), shell.now());
    if (shell.is_starved()) return Flow::next;
    if (archive) shell.charge(archive->size());
    if (!archive) return fail_with("can't open '" + options.file + "': No such file or directory");
  }
  shell.directory() = shell.absolute(options.folder);
  Flow flow = Flow::next;
  if (options.mode == 'c') {
    flow = create(shell, options);
  } else if (const auto entries = read_archive(*archive)) {
    flow = unpack(shell, options, *entries);
  } else {
    flow = fail_with(entries.error().message);
  }
  shell.directory() = before;
  return flow;
}

}  // namespace sublet::simhost::shell
