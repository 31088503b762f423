#!/usr/bin/env bash
# Tokens of an issuer beside the server (--authentication-config) with a real kubectl: who one is, what one may, a key that comes
# later, anonymous requests by path; a file that is wrong, and an issuer that may not be called.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/waiting.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-oidc-XXXXXX")
unset KUBECONFIG
export HOME="$work"
issuer='' failed=0
trap 'stop_server; [ -z "$issuer" ] || kill "$issuer" 2>/dev/null; rm -rf "$work"' EXIT
check() { # WHAT GOT WANTED
  if [ "$2" = "$3" ]; then echo "ok: $1"; else failed=1; printf 'FAILED: %s: got\n%s\nwanted\n%s\n' "$1" "$2" "$3" >&2; fi
}
mkdir "$work/issuer"
{
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=issuer \
    -addext subjectAltName=IP:127.0.0.1 -keyout "$work/key" -out "$work/certificate"
  openssl genrsa -out "$work/issuer/first.pem" 2048
} 2>"$work/openssl.log" || { cat "$work/openssl.log" >&2; exit 1; }
python3 "$here/issuer_server.py" "$work/certificate" "$work/key" "$work/issuer" 2>"$work/issuer.log" &
issuer=$!
until_holds 30 test -s "$work/issuer/port" || { cat "$work/issuer.log" >&2; exit 1; }
url="https://127.0.0.1:$(cat "$work/issuer/port")"
cat >"$work/authentication.yaml" <<END
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: $url
    audiences: [sublet]
    certificateAuthority: |
$(sed 's/^/      /' "$work/certificate")
  claimMappings:
    username: {claim: email, prefix: "idp:"}
    groups: {expression: "dyn(claims.roles).map(role, 'idp:' + role)"}
  userValidationRules:
  - {expression: "!user.username.startsWith('idp:system:')", message: "reserved"}
anonymous: {enabled: true, conditions: [{path: /livez}]}
END
start_server apiserver --listen 127.0.0.1:0 --authentication-config "$work/authentication.yaml" --outbound-allow 127.0.0.0/8 || exit 1
admin() { "$KUBECTL" --kubeconfig "$work/kubeconfig" "$@"; }
token() { # KEY EMAIL ROLES
  python3 "$here/issuer_server.py" token "$work/issuer" "$1" \
    "{\"iss\":\"$url\",\"aud\":\"sublet\",\"exp\":$(($(date +%s) + 600)),\"email\":\"$2\",\"roles\":$3}"
}
address=$(admin config view -o 'jsonpath={.clusters[0].cluster.server}')
admin config view --raw -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$work/ca"
as() { "$KUBECTL" --server "$address" --certificate-authority "$work/ca" --token "$1" "${@:2}" 2>&1; }
ann=$(token first ann@example.com '["dev"]')
check "who one is" "$(as "$ann" auth whoami -o 'jsonpath={.status.userInfo.username} {.status.userInfo.groups}')" \
  'idp:ann@example.com ["idp:dev","system:authenticated"]'
check "nobody has rights of himself" "$(as "$ann" get configmaps)" \
  'Error from server (Forbidden): configmaps is forbidden: User "idp:ann@example.com" cannot list resource "configmaps" in API group "" in the namespace "default"'
admin create rolebinding dev --clusterrole=view --group=idp:dev >/dev/null
check "a group has" "$(as "$ann" get configmaps -o name)" "configmap/kube-root-ca.crt"
check "a rule refuses" "$(as "$(token first system:x '[]')" get configmaps)" "error: You must be logged in to the server (Unauthorized)"
check "another's signature" "$(as "${ann%????????}AAAAAAAA" get configmaps)" "error: You must be logged in to the server (Unauthorized)"
openssl genrsa -out "$work/issuer/second.pem" 2048 2>/dev/null
late=$(token second ann@example.com '["dev"]')
heard() { [ "$(as "$late" get configmaps -o name)" = configmap/kube-root-ca.crt ]; }
until_holds 30 heard
check "a key that came later" "$(as "$late" get configmaps -o name)" "configmap/kube-root-ca.crt"
code() { curl -s -o /dev/null -w '%{http_code}' --cacert "$work/ca" "$address$1"; }
check "anonymous, where the file says" "$(code /livez)" 200
check "anonymous, elsewhere" "$(code /version)" 401
stop_server
rm "$work/kubeconfig"
start_server apiserver --listen 127.0.0.1:0 --authentication-config "$work/authentication.yaml" || exit 1
address=$(admin config view -o 'jsonpath={.clusters[0].cluster.server}')
refusal() { grep -q 'authentication.no_keys.*127.0.0.1' "$work/log"; }
until_holds 30 refusal
check "an issuer on this machine is not called" "$(as "$ann" get --raw /version)" "error: You must be logged in to the server (Unauthorized)"
stop_server
sed -i 's/audiences: .sublet./audiences: []/; s/dyn(claims.roles)/claims.roles/' "$work/authentication.yaml"
said=$(subletd apiserver --data "$work/other" --listen 127.0.0.1:0 --authentication-config "$work/authentication.yaml" 2>&1)
case $said in
  *"jwt[0].issuer.audiences: Required value"*"jwt[0].claimMappings.groups.expression: Invalid value"*"compilation failed"*) echo "ok: a wrong file is told" ;;
  *) failed=1 && echo "FAILED: a wrong file says: $said" >&2 ;;
esac
said=$(subletd apiserver --virtual-cluster "$work/none" --authentication-config "$work/authentication.yaml" 2>&1)
case $said in
  *"connects to nobody"*) echo "ok: a virtual cluster asks nobody" ;;
  *) failed=1 && echo "FAILED: beside a virtual cluster it says: $said" >&2 ;;
esac
exit "$failed"
