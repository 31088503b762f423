#!/usr/bin/env bash
# tests/walls/compiler.sh COMPILER PATHS PATHS SEEN... -- UNSEEN...: with these include paths (parted by colons) the
# preprocessor finds each header SEEN, and no header UNSEEN, all of which are in the tree.
set -euo pipefail
compiler=$1
IFS=: read -ra paths <<<"$2:$3"
shift 3
finds() { echo "#include \"$1\"" | "$compiler" -std=c++20 -E -x c++ "${paths[@]/#/-I}" - >/dev/null 2>&1; }
root=$(cd "$(dirname "$0")/../.." && pwd)
failed=0 wanted=yes
for header in "$@"; do
  if [ "$header" = -- ]; then wanted=no; continue; fi
  [ -e "$root/$header" ] || [ -e "$root/include/$header" ] || { echo "FAIL: there is no $header"; failed=1; }
  found=no
  finds "$header" && found=yes
  [ "$found" = "$wanted" ] || { echo "FAIL: $header found: $found, and it should be: $wanted"; failed=1; }
done
exit "$failed"
