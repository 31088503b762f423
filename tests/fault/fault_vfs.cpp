#include "tests/fault/fault_vfs.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>

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
  const int code = fault.perform({Kind::remove, base_name(path), 0, {}});
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

/// Applies the first `length` bytes of the operation's effect to the content.
void apply(std::string& content, const FaultVfs::Operation& operation, std::size_t length) {
  const auto offset = static_cast<std::size_t>(operation.offset);
  if (operation.kind == Kind::truncate) {
    content.resize(offset);
    return;
  }
  if (content.size() < offset + length) content.resize(offset + length);
  std::copy_n(operation.data.begin(), length, content.begin() + static_cast<std::ptrdiff_t>(offset));
}

/// How much of an unsynced operation survives.
std::size_t surviving(const FaultVfs::Operation& operation, Unsynced unsynced, std::mt19937& random, bool& survives) {
  survives = unsynced == Unsynced::kept || (unsynced != Unsynced::dropped && random() % 2 == 0);
  if (unsynced != Unsynced::torn || operation.kind != Kind::write || random() % 2 == 0) return operation.data.size();
  // A sector is written whole or not at all; sectors are aligned in the file.
  const std::size_t head = kSector - static_cast<std::size_t>(operation.offset) % kSector;
  const std::size_t sectors = random() % (operation.data.size() / kSector + 1);
  return std::min(operation.data.size(), sectors == 0 ? 0 : head + (sectors - 1) * kSector);
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
  const std::lock_guard lock(mutex_);
  return operations_.size();
}

void FaultVfs::fail(std::size_t nth, std::size_t count, int code) {
  const std::lock_guard lock(mutex_);
  countdown_ = nth;
  failures_ = count;
  code_ = code;
}

void FaultVfs::freeze() {
  const std::lock_guard lock(mutex_);
  frozen_ = true;
}
void FaultVfs::thaw() {
  const std::lock_guard lock(mutex_);
  frozen_ = false;
}
bool FaultVfs::frozen() const {
  const std::lock_guard lock(mutex_);
  return frozen_;
}

int FaultVfs::perform(Operation operation) {
  const std::lock_guard lock(mutex_);
  if (frozen_) return SQLITE_IOERR;
  const bool concerned = code_ == SQLITE_FULL          ? operation.kind == Kind::write
                         : code_ == SQLITE_IOERR_FSYNC ? operation.kind == Kind::sync
                                                       : operation.kind != Kind::create;
  if (concerned && countdown_ > 0 && --countdown_ == 0 && failures_ > 0) {
    countdown_ = --failures_ > 0 ? 1 : 0;
    if (code_ == SQLITE_FULL) {
      operation.data.resize(operation.data.size() / 2);
      operations_.push_back(std::move(operation));
    }
    return code_;
  }
  operations_.push_back(std::move(operation));
  return SQLITE_OK;
}

void FaultVfs::Cursor::advance(std::size_t operations) {
  const std::lock_guard lock(vfs_.mutex_);
  for (; at_ < operations; ++at_) {
    const Operation& operation = vfs_.operations_[at_];
    switch (operation.kind) {
      case Kind::remove:
        files_.erase(operation.file);
        break;
      case Kind::create:
        files_.try_emplace(operation.file);
        break;
      case Kind::sync: {
        File& file = files_[operation.file];
        for (const std::size_t number : file.unsynced)
          apply(file.synced, vfs_.operations_[number], vfs_.operations_[number].data.size());
        file.unsynced.clear();
        break;
      }
      case Kind::write:
      case Kind::truncate:
        files_[operation.file].unsynced.push_back(at_);
    }
  }
}

Image FaultVfs::Cursor::image(Unsynced unsynced, std::mt19937& random) const {
  const std::lock_guard lock(vfs_.mutex_);
  Image out;
  for (const auto& [name, file] : files_) {
    std::string content = file.synced;
    for (const std::size_t number : file.unsynced) {
      bool survives = false;
      const std::size_t length = surviving(vfs_.operations_[number], unsynced, random, survives);
      if (survives) apply(content, vfs_.operations_[number], length);
    }
    out.emplace(name, std::move(content));
  }
  return out;
}

Image FaultVfs::image(std::size_t operations, Unsynced unsynced, std::mt19937& random) const {
  Cursor cursor(*this);
  cursor.advance(operations);
  return cursor.image(unsynced, random);
}

}  // namespace sublet::store::fault
