#!/bin/sh
# Cracks the example of each hash mode with hashcat: clients/opencl/hashcat.sh PTXRUN MODE...
# hashcat tests its kernels before (the self-test); a mode passes when that and the crack are right.
set -u
ptxrun=$1
shift
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
passed=0
for mode; do
    info=$(HOME=$home hashcat --hash-info -m "$mode" --machine-readable 2>/dev/null)
    field() { echo "$info" | tr '\n' ' ' | sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p"; }
    field example_hash | sed 's#\\/#/#g' >"$home/hash"
    field example_pass >"$home/words"
    out=$(HOME=$home "$ptxrun" exec -- hashcat -m "$mode" -a 0 --force -D 1,2 -n 1 -u 1 -T 1 --potfile-disable \
        "$home/hash" "$home/words" 2>&1)
    if echo "$out" | grep -q "^Status.*Cracked" && ! echo "$out" | grep -qi "self-test failed"; then
        passed=$((passed + 1))
    else
        echo "mode $mode: $(echo "$out" | grep -i -m1 -e failed -e error -e "^Status" -e "No hashes" || echo "no result")"
    fi
done
echo "$passed of $# modes pass"
[ "$passed" -eq $# ]
