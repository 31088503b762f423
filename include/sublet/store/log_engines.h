// log_engines: opens a store's log with the engine of a given name.
//
// This is the only place that knows which engines exist. To add one, put it into a folder store/ENGINE/ and add its row
// to the table in store/log_engines.cpp. Threads: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/store/log.h"

namespace sublet::store {

struct LogOptions {
  std::string folder;             // of the engine's files; must exist
  std::string engine = "sqlite";  // one of log_engines()
};

/// Opens the log in `options.folder`, or creates it. An error names the file and the next step; bad_request for an
/// engine that does not exist.
Result<std::unique_ptr<Log>> open_log(const LogOptions& options);

/// Returns the names of all engines, sorted. "memory" loses everything when the process ends.
std::vector<std::string> log_engines();

}  // namespace sublet::store
