#include "tests/fault/fault_vfs.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <string_view>

namespace sublet::store::fault {
namespace {

constexpr std::size_t kSector = 512;

struct FaultFile {
  sqlite3_file base;
  FaultVfs* vfs;
  std::string* name;
  sqlite3_file* real;  // follows in the same allocation
};

FaultFile& self(sqlite3_file* file) { return *reinterpret_cast<FaultFile*>(file); }

std::string base_name(const char* path) {
  const std::string text = path == nullptr ? "" : path;
  const auto slash = text.rfind('/');
  return slash == std::string::npos ? text : text.substr(slash + 1);
}

using Kind = FaultVfs::Operation::Kind;

int file_close(sqlite3_file* file) {
  FaultFile& f = self(file);
  const int code = f.real->pMethods != nullptr ? f.real->pMethods->xClose(f.real) : SQLITE_OK;
  delete f.name;
  return code;
}
int file_read(sqlite3_file* file, void* out, int size, sqlite3_int64 at) {
  FaultFile& f = self(file);
  return f.vfs->frozen() ? SQLITE_IOERR_READ : f.real->pMethods->xRead(f.real, out, size, at);
}
int file_write(sqlite3_file* file, const void* data, int size, sqlite3_int64 at) {
  FaultFile& f = self(file);
  const auto* bytes = static_cast<const char*>(data);
  const int code = f.vfs->perform({Kind::write, *f.name, at, std::string(bytes, static_cast<std::size_t>(size))});
  if (code == SQLITE_FULL) f.real->pMethods->xWrite(f.real, data, size / 2, at);
  return code != SQLITE_OK ? code : f.real->pMethods->xWrite(f.real, data, size, at);
}
int file_truncate(sqlite3_file* file, sqlite3_int64 size) {
  FaultFile& f = self(file);
  const int code = f.vfs->perform({Kind::truncate, *f.name, size, {}});
  return code != SQLITE_OK ? code : f.real->pMethods->xTruncate(f.real, size);
}
int file_sync(sqlite3_file* file, int flags) {
  FaultFile& f = self(file);
  const int code = f.vfs->perform({Kind::sync, *f.name, 0, {}});
  return code != SQLITE_OK ? code : f.real->pMethods->xSync(f.real, flags);
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return self(file).real->pMethods->xFileSize(self(file).real, size);
}
int file_lock(sqlite3_file* file, int level) { return self(file).real->pMethods->xLock(self(file).real, level); }
int file_unlock(sqlite3_file* file, int level) { return self(file).real->pMethods->xUnlock(self(file).real, level); }
int file_check_lock(sqlite3_file* file, int* out) {
  return self(file).real->pMethods->xCheckReservedLock(self(file).real, out);
}
int file_control(sqlite3_file* file, int op, void* arg) {
  // Size hints write past our back.
  if (op == SQLITE_FCNTL_SIZE_HINT || op == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_NOTFOUND;
  return self(file).real->pMethods->xFileControl(self(file).real, op, arg);
}
int file_sector_size(sqlite3_file* file) { return self(file).real->pMethods->xSectorSize(self(file).real); }
int file_characteristics(sqlite3_file* file) {
  return self(file).real->pMethods->xDeviceCharacteristics(self(file).real);
}

// Version 1: no shared memory, so that every byte goes through here. Our log locks exclusively and needs none.
const sqlite3_io_methods kMethods = {
    1,           file_close,      file_read,    file_write,       file_truncate,        file_sync, file_size, file_lock,
    file_unlock, file_check_lock, file_control, file_sector_size, file_characteristics, nullptr,   nullptr,   nullptr,
    nullptr,     nullptr,         nullptr};

FaultVfs& owner(sqlite3_vfs* vfs) { return *static_cast<FaultVfs*>(vfs->pAppData); }

int vfs_open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  FaultVfs& fault = owner(vfs);
  FaultFile& f = self(file);
  f.base.pMethods = nullptr;
  f.real = reinterpret_cast<sqlite3_file*>(&f + 1);
  if (fault.frozen()) return SQLITE_CANTOPEN;
  const int code = fault.below()->xOpen(fault.below(), path, f.real, flags, out_flags);
  if (code != SQLITE_OK) return code;
  f.vfs = &fault;
  f.name = new std::string(base_name(path));
  f.base.pMethods = &kMethods;
  if ((flags & SQLITE_OPEN_CREATE) != 0) fault.perform({Kind::create, *f.name, 0, {}});
  return SQLITE_OK;
}
int vfs_delete(sqlite3_vfs* vfs, const char* path, int sync_folder) {
  FaultVfs& fault = owner(vfs);
  const int code = fault.perform({Kind::remove, base_name(path), sync_folder != 0 ? 1 : 0, {}});
  return code != SQLITE_OK ? code : fault.below()->xDelete(fault.below(), path, sync_folder);
}
int vfs_access(sqlite3_vfs* vfs, const char* path, int flags, int* out) {
  return owner(vfs).below()->xAccess(owner(vfs).below(), path, flags, out);
}
int vfs_full_path(sqlite3_vfs* vfs, const char* path, int size, char* out) {
  return owner(vfs).below()->xFullPathname(owner(vfs).below(), path, size, out);
}
int vfs_randomness(sqlite3_vfs* vfs, int size, char* out) {
  return owner(vfs).below()->xRandomness(owner(vfs).below(), size, out);
}
int vfs_sleep(sqlite3_vfs* vfs, int us) { return owner(vfs).below()->xSleep(owner(vfs).below(), us); }
int vfs_time(sqlite3_vfs* vfs, double* out) { return owner(vfs).below()->xCurrentTime(owner(vfs).below(), out); }
int vfs_last_error(sqlite3_vfs* vfs, int size, char* out) {
  return owner(vfs).below()->xGetLastError(owner(vfs).below(), size, out);
}

void write_at(std::string& content, std::size_t offset, std::string_view data) {
  if (content.size() < offset + data.size()) content.resize(offset + data.size());
  std::copy(data.begin(), data.end(), content.begin() + static_cast<std::ptrdiff_t>(offset));
}

void apply(std::string& content, const FaultVfs::Operation& operation) {
  const auto offset = static_cast<std::size_t>(operation.offset);
  if (operation.kind == Kind::truncate)
    content.resize(offset);
  else
    write_at(content, offset, operation.data);
}

/// Calls `piece(offset in the data, size)` for each part of a write that lies in a sector of its own.
template <typename Piece>
void for_each_sector(const FaultVfs::Operation& operation, Piece piece) {
  const auto begin = static_cast<std::size_t>(operation.offset);
  for (std::size_t at = 0; at < operation.data.size();) {
    const std::size_t size = std::min(kSector - (begin + at) % kSector, operation.data.size() - at);
    if (!piece(at, size)) return;
    at += size;
  }
}

std::string garbage(std::size_t size, std::mt19937& random) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

/// What an operation that was not synced leaves on the disk when the power goes.
void apply_unsynced(std::string& content, const FaultVfs::Operation& operation, Unsynced unsynced,
                    std::mt19937& random) {
  if (unsynced == Unsynced::dropped) return;
  if (unsynced == Unsynced::kept) return apply(content, operation);
  const bool whole = operation.kind == Kind::truncate || unsynced == Unsynced::random_subset;
  if (whole || random() % 2 == 0) {
    if (random() % 2 == 0) apply(content, operation);
    return;
  }
  const auto offset = static_cast<std::size_t>(operation.offset);
  const std::string_view data = operation.data;
  for_each_sector(operation, [&](std::size_t at, std::size_t size) {
    const unsigned fate = random() % 4;
    if (unsynced == Unsynced::torn && fate == 0) return false;
    if (unsynced == Unsynced::garbage && fate == 0)
      write_at(content, offset + at, garbage(size, random));
    else if (unsynced == Unsynced::torn || fate < 3)
      write_at(content, offset + at, data.substr(at, size));
    return true;
  });
}

}  // namespace

FaultVfs::FaultVfs() : below_(sqlite3_vfs_find(nullptr)) {
  static std::atomic<int> counter{0};
  name_ = "fault-" + std::to_string(++counter);
  vfs_.iVersion = 1;
  vfs_.szOsFile = static_cast<int>(sizeof(FaultFile)) + below_->szOsFile;
  vfs_.mxPathname = below_->mxPathname;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = vfs_open;
  vfs_.xDelete = vfs_delete;
  vfs_.xAccess = vfs_access;
  vfs_.xFullPathname = vfs_full_path;
  vfs_.xRandomness = vfs_randomness;
  vfs_.xSleep = vfs_sleep;
  vfs_.xCurrentTime = vfs_time;
  vfs_.xGetLastError = vfs_last_error;
  sqlite3_vfs_register(&vfs_, 0);
}

FaultVfs::~FaultVfs() { sqlite3_vfs_unregister(&vfs_); }

void FaultVfs::adopt(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string name = base_name(path.c_str());
  perform({Kind::create, name, 0, {}});
  perform({Kind::write, name, 0, std::string(std::istreambuf_iterator<char>(in), {})});
  perform({Kind::sync, name, 0, {}});
}

std::size_t FaultVfs::operations() const {
  const MutexLock lock(mutex_);
  return operations_.size();
}

void FaultVfs::fail(std::size_t nth, std::size_t count, int code) {
  const MutexLock lock(mutex_);
  countdown_ = nth;
  failures_ = count;
  code_ = code;
}

void FaultVfs::freeze() {
  const MutexLock lock(mutex_);
  frozen_ = true;
}
void FaultVfs::thaw() {
  const MutexLock lock(mutex_);
  frozen_ = false;
}
bool FaultVfs::frozen() const {
  const MutexLock lock(mutex_);
  return frozen_;
}

int FaultVfs::perform(Operation operation) {
  const MutexLock lock(mutex_);
  if (frozen_) return SQLITE_IOERR;
  const bool concerned = code_ == SQLITE_FULL          ? operation.kind == Kind::write
                         : code_ == SQLITE_IOERR_FSYNC ? operation.kind == Kind::sync
                                                       : operation.kind != Kind::create;
  if (concerned && countdown_ > 0 && --countdown_ == 0 && failures_ > 0) {
    countdown_ = --failures_ > 0 ? 1 : 0;
    if (code_ == SQLITE_FULL) {
      operation.data.resize(operation.data.size() / 2);
      operations_.push_back(std::move(operation));
    } else if (operation.kind == Kind::sync) {
      operation.kind = Kind::failed_sync;
      operations_.push_back(std::move(operation));
    }
    return code_;
  }
  operations_.push_back(std::move(operation));
  return SQLITE_OK;
}

void FaultVfs::Cursor::sync(File& file) {
  for (const std::size_t number : file.unsynced) apply(file.synced, vfs_.operations_[number]);
  file.unsynced.clear();
  file.entry_synced = true;
}

void FaultVfs::Cursor::lose(File& file) {
  for (const std::size_t number : file.unsynced)
    if (lost_survive_) apply_unsynced(file.synced, vfs_.operations_[number], Unsynced::sectors, fate_);
  file.unsynced.clear();
}

void FaultVfs::Cursor::advance(std::size_t operations) {
  const MutexLock lock(vfs_.mutex_);
  for (; at_ < operations; ++at_) {
    const Operation& operation = vfs_.operations_[at_];
    switch (operation.kind) {
      case Kind::remove:
        if (operation.offset == 0 && files_.count(operation.file) != 0)
          removed_[operation.file] = std::move(files_[operation.file]);
        files_.erase(operation.file);
        break;
      case Kind::create:
        files_.try_emplace(operation.file);
        break;
      case Kind::sync:
        sync(files_[operation.file]);
        removed_.erase(operation.file);
        break;
      case Kind::failed_sync:
        lose(files_[operation.file]);
        break;
      case Kind::write:
      case Kind::truncate:
        files_[operation.file].unsynced.push_back(at_);
    }
  }
}

std::string FaultVfs::Cursor::content(const File& file, Unsynced unsynced, std::mt19937& random) const {
  std::string content = file.synced;
  for (const std::size_t number : file.unsynced) apply_unsynced(content, vfs_.operations_[number], unsynced, random);
  return content;
}

Image FaultVfs::Cursor::image(Unsynced unsynced, std::mt19937& random, Entries entries) const {
  const MutexLock lock(vfs_.mutex_);
  Image out;
  for (const auto& [name, file] : files_)
    if (entries == Entries::kept || file.entry_synced) out.emplace(name, content(file, unsynced, random));
  if (entries == Entries::lost)
    for (const auto& [name, file] : removed_) out.emplace(name, content(file, unsynced, random));
  return out;
}

Image FaultVfs::image(std::size_t operations, Unsynced unsynced, std::mt19937& random, Entries entries) const {
  Cursor cursor(*this);
  cursor.advance(operations);
  return cursor.image(unsynced, random, entries);
}

}  // namespace sublet::store::fault
