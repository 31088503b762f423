#!/usr/bin/env bash
# oidc_story.sh KUBECONFIG ISSUERS: tokens of the two issuers of tests/host/oidc.sh, shown to a server by kubectl and to a
# TokenReview: who one is, what is wrong with a token, a key that comes later, anonymous requests by path. ISSUERS is the folder
# of that script. Prints every step with what it said and its exit code; what differs from run to run is left out,
# and the words of a review that refuses (authn_test.cpp has those).
set -u
kubeconfig=$1 issuers=$2
kubectl_bin=${KUBECTL:?}
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-oidc-story-XXXXXX")
trap 'rm -rf "$work"' EXIT
export HOME="$work"
issuer_server=$(dirname "$0")/../../e2e/issuer_server.py
space=oidc
normal() {
  sed -E -e 's#https://127.0.0.1:[0-9]+#https://ADDRESS#g' -e "s#$issuers#ISSUERS#g" -e 's/"creationTimestamp":[^,}]*,?//' -e 's/AGE +[0-9]+s/AGE/' \
    -e 's/^[EWI][0-9]{4} [0-9:.]+ +[0-9]+ /LOG /' -e 's/^( "error": ").+(",?)$/\1WORDS\2/'
}
admin() { "$kubectl_bin" --kubeconfig "$kubeconfig" "$@"; }
server=$(admin config view -o 'jsonpath={.clusters[0].cluster.server}')
admin config view --raw -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$work/ca"
# step WHAT COMMAND...: what it is about, what the command said, its exit code.
step() {
  printf '$ %s\n' "$1"
  "${@:2}" >"$work/out" 2>"$work/err"
  local code=$?
  normal <"$work/out"
  normal <"$work/err" | sort -u | sed 's/^/! /'
  printf '\n= %s\n' "$code"
}
now=$(date +%s)
# token ISSUER KEY CLAIMS: claims are JSON members; those that every token has may be said anew.
token() {
  local claims
  claims=$(python3 -c '
import json, sys
usual = {"iss": sys.argv[1], "aud": "sublet", "exp": int(sys.argv[2]) + 3600, "sub": "s-1", "tenant": "t"}
print(json.dumps(usual | json.loads("{" + sys.argv[3] + "}")))' "$(cat "$issuers/$1/url")" "$now" "$3")
  python3 "$issuer_server" token "$issuers/$1" "$2" "$claims"
}
as() { "$kubectl_bin" --server "$server" --certificate-authority "$work/ca" --token "$@"; }
review() { # TOKEN [AUDIENCES]
  printf '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"%s","audiences":%s}}' "$1" "${2:-[]}" >"$work/review.json"
  admin create --raw /apis/authentication.k8s.io/v1/tokenreviews -f "$work/review.json" |
    python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["status"], indent=1, sort_keys=True))'
}
# shown WHAT TOKEN: to the server, which says who it takes him for, and to a review.
shown() {
  step "$1" as "$2" auth whoami -o 'jsonpath={.status.userInfo}'
  step "$1, reviewed" review "$2"
}

admin create namespace "$space" >/dev/null
admin -n "$space" create configmap one --from-literal=a=b >/dev/null
ann='"email": "ann@example.com", "roles": ["dev", "ops"]'

# A server that has just begun may not know the issuers yet.
ready=$(token plain first "$ann") other=$(token rules first '"sub": "x"')
for one in "$ready" "$other"; do
  for _ in $(seq 300); do
    as "$one" auth whoami >/dev/null 2>&1 && break
    read -rt 0.1 <> <(:) || true
  done
done

echo "# claims with prefixes"
shown "who one is" "$ready"
step "nobody has rights of himself" as "$ready" -n "$space" get configmaps
admin -n "$space" create role reader --verb=get --resource=configmaps >/dev/null
admin -n "$space" create rolebinding dev --role=reader --group=plain:dev >/dev/null
# kube-apiserver hears of a binding a moment later.
for _ in $(seq 300); do
  as "$ready" -n "$space" get configmap one >/dev/null 2>&1 && break
  read -rt 0.1 <> <(:) || true
done
step "a group has" as "$ready" -n "$space" get configmap one -o name
step "no further than that" as "$ready" -n "$space" delete configmap one
step "nor elsewhere" as "$ready" get configmaps -A
shown "one group as a text" "$(token plain first '"email": "bob@example.com", "roles": "dev"')"
shown "no groups" "$(token plain first '"email": "bob@example.com"')"
shown "groups that are none" "$(token plain first '"email": "bob@example.com", "roles": [1]')"
shown "groups that are an object" "$(token plain first '"email": "bob@example.com", "roles": {"a": 1}')"
shown "no name" "$(token plain first '"roles": ["dev"]')"
shown "a name that is a number" "$(token plain first '"email": 7')"
shown "an email that is verified" "$(token plain first "$ann"', "email_verified": true')"
shown "one that is not" "$(token plain first "$ann"', "email_verified": false')"
shown "one that says so in words" "$(token plain first "$ann"', "email_verified": "true"')"
shown "a token's own id" "$(token plain first "$ann"', "jti": "t-1"')"

echo "# whose it is, for whom, and when"
shown "for somebody else" "$(token plain first "$ann"', "aud": "other"')"
shown "for several" "$(token plain first "$ann"', "aud": ["other", "sublet"]')"
shown "for nobody" "$(token plain first "$ann"', "aud": []')"
shown "over" "$(token plain first "$ann"', "exp": 1700000000')"
shown "not begun" "$(token plain first "$ann"', "nbf": '$((now + 3600)))"
shown "begun on a clock that is ahead" "$(token plain first "$ann"', "nbf": '$((now + 60)))"
shown "of an issuer that is not in the file" "$(token plain first "$ann"', "iss": "https://other.example.com"')"
shown "without an issuer" "$(token plain first "$ann"', "iss": ""')"
shown "with another's signature" "${ready%????????????}AAAAAAAAAAAA"
shown "of the other issuer's key" "$(iss=$(cat "$issuers/plain/url") && token rules first "$ann"', "iss": "'"$iss"'"')"
shown "cut off" "${ready%.*}"
shown "none" "not-a-token"
shown "with no algorithm" "$(printf '{"alg":"none"}' | base64 -w0 | tr -d =).$(cut -d. -f2 <<<"$ready")."

echo "# rules and expressions"
shown "who one is" "$(token rules first '"sub": "u-7", "team": "rag", "roles": ["a", "b"], "oid": "o-1", "level": 3')"
shown "extra of a list" "$(token rules first '"sub": "u-7", "team": ["rag", "web"]')"
shown "an expression that fails" "$(token rules first '"sub": 7')"
shown "a required claim that is another" "$(token rules first '"sub": "x", "tenant": "other"')"
shown "one that is not there" "$(token rules first '"sub": "x", "tenant": null')"
shown "a rule of claims" "$(token rules first '"sub": "x", "level": 11')"
shown "a rule that cannot be said" "$(token rules first '"sub": "x", "level": "many"')"
shown "a rule of the user" "$(token rules first '"sub": "system:admin"')"
shown "groups of the wrong kind" "$(token rules first '"sub": "x", "roles": [1, 2]')"
shown "an empty name" "$(token rules first '"sub": ""')"
shown "either audience" "$(token rules first '"sub": "x", "aud": "second"')"

echo "# a review that asks for an audience"
step "which the token has" review "$ready" '["sublet"]'
step "which the token has not" review "$ready" '["other"]'
step "the server's own" review "$ready" '["https://kubernetes.default.svc.cluster.local"]'

echo "# a key that comes later"
late=$(token late second "$ann")
for _ in $(seq 300); do
  as "$late" auth whoami >/dev/null 2>&1 && break
  read -rt 0.1 <> <(:) || true
done
shown "is known" "$late"

echo "# anonymous"
code() { curl -s -o /dev/null -w '%{http_code}' --cacert "$work/ca" "$server$1"; }
for path in /livez /livez/ping /readyz /healthz /version /api /openapi/v2; do step "$path" code "$path"; done
step "a wrong token where anonymous may" curl -s --cacert "$work/ca" -H "Authorization: Bearer ${ready}x" -o /dev/null -w '%{http_code}' "$server/livez"
admin delete namespace "$space" --wait=false >/dev/null
