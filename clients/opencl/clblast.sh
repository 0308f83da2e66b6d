#!/bin/sh
# CLBlast's own tests (Debian: clblast-tests): clients/opencl/clblast.sh PTXRUN [ROUTINE...], such as xgemm
# A routine passes when its program says that none of its tests failed; `skipped` are options that it does not have.
set -u
ptxrun=$1
shift
[ $# -gt 0 ] || set -- $(ls /usr/bin/clblast_test_x* | sed 's/.*clblast_test_//')
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0
tests=0
for routine; do
    "$ptxrun" exec -- timeout 900 "clblast_test_$routine" -platform 0 -device 0 >"$log" 2>&1
    code=$?
    count() { sed 's/\x1b\[[0-9;]*m//g' "$log" | sed -n "s/.* \([0-9][0-9]*\) test(s) $1.*/\1/p" | paste -sd+ | bc; }
    right=$(count passed)
    failed=$(count failed)
    tests=$((tests + ${right:-0}))
    if [ "$code" -eq 0 ] && [ "${failed:-1}" -eq 0 ] && [ "${right:-0}" -gt 0 ]; then
        passed=$((passed + 1))
    else
        echo "$routine: exit $code, ${right:-0} passed, ${failed:-?} failed"
    fi
done
echo "$passed of $# routines pass, $tests tests"
[ "$passed" -eq $# ]
