#!/usr/bin/env bash
# host: own, 60 s
# The same AuthenticationConfiguration on a kube-apiserver of its own and on ours: tokens of three issuers, good ones and every
# kind of wrong one, are told the same by both: who one is, what may not be, and in a TokenReview why.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/host/support/same_words.sh
name="oidc-$$" issuer_pids=()
finish() {
  stop_server
  for pid in "${issuer_pids[@]}"; do kill "$pid" 2>/dev/null; done
  tools/testhost/testhost down --name "$name" >/dev/null
  rm -rf "$work"
}
trap finish EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=issuer -addext subjectAltName=IP:127.0.0.1 \
  -keyout "$work/key" -out "$work/certificate" 2>"$work/openssl.log" || fail_story "$(cat "$work/openssl.log")"
for issuer in plain rules late; do
  mkdir -p "$work/$issuer"
  openssl genrsa -out "$work/$issuer/first.pem" 2048 2>/dev/null
  python3 tests/e2e/issuer_server.py "$work/certificate" "$work/key" "$work/$issuer" 2>"$work/$issuer.log" &
  issuer_pids+=($!)
  until_holds 30 test -s "$work/$issuer/port" || fail_story "$(cat "$work/$issuer.log")"
  echo -n "https://127.0.0.1:$(cat "$work/$issuer/port")" >"$work/$issuer/url"
done
issuer() { # NAME AUDIENCES
  cat <<END
- issuer:
    url: $(cat "$work/$1/url")
    audiences: $2
    audienceMatchPolicy: MatchAny
    certificateAuthority: |
$(sed 's/^/      /' "$work/certificate")
END
}
cat >"$work/authentication.yaml" <<END
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
$(issuer plain '[sublet]')
  claimMappings:
    username: {claim: email, prefix: "plain:"}
    groups: {claim: roles, prefix: "plain:"}
$(issuer rules '[sublet, second]')
  claimMappings:
    username: {expression: "'rules:' + claims.sub"}
    groups: {expression: "dyn(claims.?roles.orValue([])).map(r, 'rules:' + r)"}
    uid: {expression: "claims.?oid.orValue('none')"}
    extra:
    - {key: example.com/team, valueExpression: "claims.?team.orValue('')"}
  claimValidationRules:
  - {claim: tenant, requiredValue: t}
  - {expression: "claims.?level.orValue(0) <= 10", message: "at most ten"}
  userValidationRules:
  - {expression: "!user.username.startsWith('rules:system:')", message: "reserved"}
$(issuer late '[sublet]')
  claimMappings:
    username: {claim: sub, prefix: ""}
anonymous: {enabled: true, conditions: [{path: /livez}, {path: /readyz}]}
END
tools/testhost/testhost up --name "$name" --with "" --authentication-config "$work/authentication.yaml" >/dev/null || fail_story
reference=$(tools/testhost/testhost env --name "$name" | sed 's/^export KUBECONFIG=//')
start_server apiserver --listen 127.0.0.1:0 --controllers none --authentication-config "$work/authentication.yaml" --outbound-allow 127.0.0.0/8 || fail_story
openssl genrsa -out "$work/late/second.pem" 2048 2>/dev/null
story() { tests/host/support/oidc_story.sh "$1" "$work"; }
same_words 80 story "$reference"
