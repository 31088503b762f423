#!/usr/bin/env bash
# tests/layers/compiler.sh COMPILER PATHS PATHS SEEN... -- UNSEEN...: with these include paths (separated by colons), the
# preprocessor finds each header SEEN and no header UNSEEN. All of them exist in the tree.
set -euo pipefail
compiler=$1
IFS=: read -ra paths <<<"$2:$3"
shift 3
finds() { echo "#include \"$1\"" | "$compiler" -std=c++20 -E -x c++ "${paths[@]/#/-I}" - >/dev/null 2>&1; }
root=$(cd "$(dirname "$0")/../.." && pwd)
failed=0 wanted=yes
for header in "$@"; do
  if [ "$header" = -- ]; then wanted=no; continue; fi
  [ -e "$root/$header" ] || [ -e "$root/include/$header" ] || { echo "FAIL: $header does not exist"; failed=1; }
  found=no
  finds "$header" && found=yes
  [ "$found" = "$wanted" ] || { echo "FAIL: $header found: $found, want: $wanted"; failed=1; }
done
exit "$failed"
