#include "simhost/shell/files.h"

#include <algorithm>

namespace sublet::simhost::shell {
namespace {

/// "/a/b" for "a//b/".
std::string clean(std::string_view path) {
  std::string out = "/";
  for (const char c : path)
    if (c != '/' || out.back() != '/') out += c;
  if (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

/// `path` below `folder`, beginning with '/'; nullopt when it is elsewhere.
std::optional<std::string> below(std::string_view path, std::string_view folder) {
  if (folder == "/") return std::string(path);
  if (!path.starts_with(folder)) return std::nullopt;
  const std::string_view rest = path.substr(folder.size());
  if (rest.empty()) return "/";
  return rest[0] == '/' ? std::optional(std::string(rest)) : std::nullopt;
}

}  // namespace

const FileTree::Version* FileTree::current(std::string_view path, WallTime at) const {
  const auto found = files_.find(path);
  if (found == files_.end()) return nullptr;
  const Version* out = nullptr;
  for (const Version& version : found->second)
    if (version.since <= at) out = &version;
  return out;
}

std::optional<std::string> FileTree::read(std::string_view path, WallTime at) const {
  const Version* version = current(clean(path), at);
  return version ? version->content : std::nullopt;
}

bool FileTree::put(std::string_view path, Version version) {
  const std::size_t size = version.content ? version.content->size() : 0;
  if (bytes_ + size > kMaxBytes) return false;
  std::vector<Version>& versions = files_[clean(path)];
  const auto later = std::ranges::find_if(versions, [&](const Version& v) { return v.since > version.since; });
  versions.insert(later, std::move(version));
  bytes_ += size;
  if (versions.size() <= kVersions) return true;
  if (versions.front().content) bytes_ -= versions.front().content->size();
  versions.erase(versions.begin());
  return true;
}

bool FileTree::write(std::string_view path, std::string content, WallTime at) {
  return put(path, {at, std::move(content)});
}
void FileTree::remove(std::string_view path, WallTime at) { put(path, {at, std::nullopt}); }

std::vector<std::string> FileTree::list(std::string_view folder, WallTime at) const {
  std::vector<std::string> out;
  for (const auto& [path, versions] : files_)
    if (const auto rest = below(path, clean(folder)); rest && rest != "/" && read(path, at)) out.push_back(path);
  return out;
}

void FileTree::replace(const std::map<std::string, std::string>& files, WallTime at) {
  for (const std::string& path : list("/", at))
    if (!files.contains(path)) remove(path, at);
  for (const auto& [path, content] : files)
    if (read(path, at) != content) write(path, content, at);
}

Files Files::copy() const {
  Files out;
  std::map<const FileTree*, std::shared_ptr<FileTree>> copies;  // a tree may be mounted twice
  out.root_ = std::make_shared<FileTree>(*root_);
  for (Mount mount : mounts_) {
    std::shared_ptr<FileTree>& tree = copies[mount.tree.get()];
    if (!tree) tree = std::make_shared<FileTree>(*mount.tree);
    mount.tree = tree;
    out.mounts_.push_back(std::move(mount));
  }
  return out;
}

void Files::mount(std::string_view path, std::shared_ptr<FileTree> tree, std::string_view file) {
  mounts_.push_back({clean(path), file.empty() ? std::string() : clean(file), std::move(tree)});
  std::ranges::stable_sort(mounts_, std::ranges::greater(), [](const Mount& m) { return m.path.size(); });
}

Files::Place Files::place_of(std::string_view path) const {
  const std::string cleaned = clean(path);
  for (const Mount& mount : mounts_) {
    if (!mount.file.empty() && cleaned == mount.path) return {mount.tree.get(), mount.file};
    if (const auto rest = below(cleaned, mount.path); mount.file.empty() && rest) return {mount.tree.get(), *rest};
  }
  return {root_.get(), cleaned};
}

std::optional<std::string> Files::read(std::string_view path, WallTime at) const {
  const Place place = place_of(path);
  return place.tree->read(place.path, at);
}

bool Files::write(std::string_view path, std::string content, WallTime at) {
  const Place place = place_of(path);
  return place.tree->write(place.path, std::move(content), at);
}

void Files::remove(std::string_view path, WallTime at) {
  const Place place = place_of(path);
  place.tree->remove(place.path, at);
}

std::vector<std::string> Files::list(std::string_view folder, WallTime at) const {
  const Place place = place_of(folder);
  std::vector<std::string> out;
  for (const std::string& path : place.tree->list(place.path, at))
    out.push_back(clean(std::string(folder) + "/" + below(path, place.path).value_or(path)));
  for (const Mount& mount : mounts_) {
    if (below(mount.path, clean(folder)).value_or("/") == "/") continue;
    if (!mount.file.empty())
      out.push_back(mount.path);
    else
      for (const std::string& path : mount.tree->list("/", at)) out.push_back(mount.path + path);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool Files::is_folder(std::string_view path, WallTime at) const {
  const std::string cleaned = clean(path);
  if (cleaned == "/" || cleaned == "/tmp" || cleaned == "/var/tmp") return true;
  const auto shown = [&](const Mount& mount) {
    const auto rest = below(mount.path, cleaned);
    return rest && (mount.file.empty() || rest != "/");
  };
  return std::ranges::any_of(mounts_, shown) || !list(cleaned, at).empty();
}

}  // namespace sublet::simhost::shell
