// Creates of every kind: what one costs the server, in the order of the file that has an object of each.
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/api_steps.h"
#include "bench/closed_loop.h"
#include "bench/connection.h"
#include "bench/figures.h"

namespace sublet::bench {
namespace {

constexpr int kCreators = 16;
constexpr int kMadeBefore = 4 * kCreators;  // what is made once is not counted
constexpr std::string_view kNumber = "{n}", kNamespace = "{ns}";

/// One kind's collection and its object, in which kNumber stands for what tells one from the next.
struct CreateRow {
  std::string name;        // VERSION/RESOURCE
  std::string collection;  // path; kNamespace stands for a namespace of its own
  std::string query;
  std::string body;
};

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

/// An object that does not say where its number goes has it at the end of its name.
void number_name(std::string& body) {
  if (body.find(kNumber) != std::string::npos) return;
  constexpr std::string_view kName = R"("metadata":{"name":")";
  const auto name = body.find(kName);
  if (name == std::string::npos) return;
  body.insert(body.find('"', name + kName.size()), "-" + std::string(kNumber));
}

/// `VERSION COLLECTION[?QUERY]`, as a heading has it.
CreateRow row_of(const std::string& heading) {
  const auto space = heading.find(' ');
  if (space == std::string::npos) die("no collection in the heading " + heading);
  const std::string version = heading.substr(0, space), rest = heading.substr(space + 1);
  const auto query = rest.find('?');
  const std::string path = rest.substr(0, query);
  const std::string root = version.find('/') == std::string::npos ? "/api/" : "/apis/";
  return {.name = version + "/" + path.substr(path.rfind('/') + 1),
          .collection = root + version + "/" + path,
          .query = query == std::string::npos ? "" : rest.substr(query),
          .body = {}};
}

/// Of each kind the shortest object; what an earlier file has of the kind makes room.
void read_rows(const std::string& path, std::vector<CreateRow>& rows) {
  std::ifstream file(path);
  if (!file) die("cannot read " + path);
  constexpr std::string_view kHeading = "### ";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kHeading)) {
      CreateRow row = row_of(line.substr(kHeading.size()));
      std::erase_if(rows, [&](const CreateRow& other) { return other.name == row.name; });
      rows.push_back(std::move(row));
    }
    if (!line.starts_with('{')) continue;
    if (rows.empty()) die("an object before the first heading of " + path);
    std::string& body = rows.back().body;
    if (body.empty() || line.size() < body.size()) body = line;
  }
  for (auto& row : rows) number_name(row.body);
}

void measure_creates(const ClientTls& tls, const ProcessUsage& server, Connection& admin, CreateRow row, int count,
                     Figures& figures) {
  if (row.collection.find(kNamespace) != std::string::npos) {
    const std::string own = make_namespace(admin, "bench-creates-" + std::to_string(figures.size()));
    // Pods want a service account; where a controller makes it, it may be there already.
    (void)admin.call({.method = "POST",
                      .path = "/api/v1/namespaces/" + own + "/serviceaccounts",
                      .body = R"({"metadata":{"name":"default"}})"});
    replace_all(row.collection, kNamespace, own);
    replace_all(row.body, kNamespace, own);
  }
  // The number is never that of another of this run: one worker has each kWriters-th.
  const auto create = [&](int number) {
    Request request{.method = "POST", .path = row.collection + row.query, .body = row.body};
    replace_all(request.body, kNumber, std::to_string(number));
    return request;
  };
  for (int i = 0; i < kMadeBefore; ++i) admin.expect(create(i));
  Figures all;
  run_closed_loop(
      "", tls, server, {.workers = kCreators, .operations = count},
      [&](int worker, int turn, std::minstd_rand&) { return create(kMadeBefore + turn * kCreators + worker); }, all);
  figures.emplace_back(row.name, all.back().second);
  // Hundreds of them would be asked about all that follows. Some kinds have no such verb.
  (void)admin.call({.method = "DELETE", .path = row.collection + "?gracePeriodSeconds=0"});
}

}  // namespace

Figures measure_creates(const kube::ClusterAccess& access, const ProcessUsage& server,
                        const std::vector<std::string>& files, const std::string& only, int count) {
  std::vector<CreateRow> rows;
  for (const auto& file : files) read_rows(file, rows);
  const ClientTls tls(access);
  Connection admin(tls);
  Figures figures;
  for (const auto& row : rows)
    if (row.name.find(only) != std::string::npos) measure_creates(tls, server, admin, row, count, figures);
  return figures;
}

}  // namespace sublet::bench
