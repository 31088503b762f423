// TunnelWire: names that both ends of the tunnel use: the API server (sublet/apiserver/tunnel.h) and the syncer's
// gateway. Constants only.
//
// The syncer has no listening port, and the API server has no host credentials. So the syncer polls for jobs on the API
// server's unix socket, asks the host, and posts the answer in pieces. Members of a job, which is JSON:
//
//   every job          id
//   a pod's job        namespace, pod, uid, query; alone it is a request for the pod's log
//     call             an HTTPS request to the pod: port, serverName, ca, method, target, headers, body (base64),
//                      timeout (milliseconds), anyCertificate, certificate, key; relayed: the answer is passed on
//                      piece by piece with its headers
//     connect          exec, attach, port-forward: subresource, method, user, requestId, headers
//       proxy          a request to the pod's own HTTP server: scheme, port, path, prefix, body (base64)
//   openapi            the host's OpenAPI v3 document of a path ("apis/apps/v1"); "" asks for the documents' hashes
//   metrics            a MetricsQuestion (sublet/kube/resource_metrics.h)
//   closed             ids of jobs whose clients have left, in place of a job
#pragma once

#include <string_view>

namespace sublet::kube::tunnel {

/// GET asks for a job; GET kPath/ID brings an upgraded connection; POST kPath/ID brings a piece of an answer.
inline constexpr std::string_view kPath = "/sublet.dev/v1/tunnel";
/// Of an upgraded connection: the value of Upgrade.
inline constexpr std::string_view kProtocol = "sublet-tunnel";
/// Prefix of the headers of the host's (or the pod's) answer.
inline constexpr std::string_view kHostHeader = "Sublet-Host-";
/// Content type of an answer that is only the reason why the pod could not be called.
inline constexpr std::string_view kCallFailed = "application/vnd.sublet.call-failed";

// Query parameters of a piece: the host's status code, and whether the piece is the last.
inline constexpr std::string_view kCode = "code", kEnd = "end";
inline constexpr std::string_view kEndComplete = "1", kEndBroken = "broken";  // values of kEnd

// Members of a job.
inline constexpr std::string_view kId = "id", kClosed = "closed";
inline constexpr std::string_view kNamespace = "namespace", kPod = "pod", kUid = "uid", kQuery = "query";
inline constexpr std::string_view kCall = "call", kConnect = "connect", kProxy = "proxy";
inline constexpr std::string_view kOpenApi = "openapi", kMetrics = "metrics";
// Members of call, connect and proxy.
inline constexpr std::string_view kMethod = "method", kHeaders = "headers", kBody = "body", kPort = "port";
inline constexpr std::string_view kName = "name", kValue = "value";  // of a header
inline constexpr std::string_view kServerName = "serverName", kCa = "ca", kTarget = "target", kTimeout = "timeout";
inline constexpr std::string_view kAnyCertificate = "anyCertificate", kCertificate = "certificate", kKey = "key";
inline constexpr std::string_view kRelayed = "relayed";
inline constexpr std::string_view kSubresource = "subresource", kUser = "user", kRequestId = "requestId";
inline constexpr std::string_view kScheme = "scheme", kProxyPath = "path", kPrefix = "prefix";

}  // namespace sublet::kube::tunnel
