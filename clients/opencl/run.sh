#!/bin/bash
# Runs the programs of docs/opencl-programs.md with the driver of a build and prints a line of each: what it says it
# passed, and seconds. clients/opencl/run.sh DIRECTORY_OF_PTXRUN [ROW...], such as target/dist
# All rows where none is named. A part of a row: hashcat:0,100 hashcat-kernels:'m0000*_a3*' opencv:blur
# clblast:xaxpy,xdot; of silx and pyfai by PYTEST_ADDOPTS='-k medfilt'.
# Needs bc, a C++ compiler, Debian's packages (a row says which), Python 3.11 and, the first time, the network.
set -u
rows="hashcat hashcat-kernels opencv darktable ffmpeg clblast clfft viennacl pyopencl silx pyfai clpeak"
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
[ $# -gt 0 ] || { echo "usage: clients/opencl/run.sh DIRECTORY_OF_PTXRUN [ROW...]; rows: $rows" >&2; exit 2; }
build=$(cd "$1" && pwd) || exit 2
[ -x "$build/ptxrun" ] || { echo "no ptxrun in $build" >&2; exit 2; }
shift
[ $# -gt 0 ] || set -- $rows
export PTXRUN_LIBDIR=$build
ptxrun=$build/ptxrun
venvs=${PTXRUN_CLIENTS:-$root/target/clients}
mkdir -p "$venvs/opencl-programs" && venvs=$(cd "$venvs" && pwd) || exit 2
out=$venvs/opencl-programs
failed=

# What fails by its own doing: "Known to fail" of docs/opencl-programs.md, and of pyopencl docs/opencl-driver.md.
known_clblast="xamax: exit 1, 48 passed, 12 failed
xaxpybatched: exit 1, 324 passed, 36 failed
xgemmbatched: exit 1, 3234 passed, 234 failed"
known_viennacl="GMRES with ILU0, single
dense GMRES, single"
known_pyopencl="test_get_info
test_xdg_cache_home"

line() { printf '%-15s  %-42s  %s\n' "$1" "$2" "${3-}"; }
fails() { failed="$failed $row"; }
# Whether the first of these is there; the others are Debian's packages that bring it.
needs() {
    local file=$1
    shift
    [ -e "$file" ] || command -v "$file" >/dev/null || {
        line "$row" "not installed: apt-get install $*"
        fails
        return 1
    }
}
# A virtual environment with packages, made once, as clients/run.sh does.
venv() {
    local name=$1
    shift
    [ -e "$venvs/$name/complete" ] || {
        python3 -m venv "$venvs/$name" && "$venvs/$name/bin/pip" install -q "$@" && touch "$venvs/$name/complete"
    } || { line "$row" "not installed: pip install $*"; fails; return 1; }
}
# Runs a command of a row; what it writes stays in a file.
run() {
    local start=$SECONDS
    "$@" >"$out/$row.txt" 2>&1
    code=$?
    seconds=$((SECONDS - start))
}
exec_() { run "$ptxrun" exec -- "$@"; }
# What `sed -n` finds with a script in the output.
found() { sed -n "$1" "$out/$row.txt"; }

# verdict PASSED ALL SCORE NAMES [KNOWN]: prints the line of a row. Right is that all pass, or all but those that are
# known to fail, no more and no fewer; NAMES are those that fail, a line each.
verdict() {
    local names known here_known=
    names=$(sort <<<"$4")
    known=$(sort <<<"${5-}")
    # Of a part of a row, those that were asked for.
    if [ ${#chosen[@]} -gt 0 ] && [ -n "$known" ]; then
        for name in "${chosen[@]}"; do here_known+=$(grep "^$name:" <<<"$known")$'\n'; done
        known=$(sort <<<"$here_known" | sed '/^$/d')
    fi
    local count=0
    [ -z "$names" ] || count=$(wc -l <<<"$names")
    line "$row" "${3:-no score (exit $code)}" "$seconds s"
    if [ "${2:-0}" -gt 0 ] && [ $(($1 + count)) -eq "$2" ] && [ "$names" = "$known" ] &&
        { [ "$code" -eq 0 ] || [ "$count" -gt 0 ]; }; then
        [ "$count" -eq 0 ] || sed 's/^/    known to fail: /' <<<"$names"
        return
    fi
    fails
    [ -z "$names" ] || comm -23 <(echo "$names") <(echo "$known") | sed 's/^/    FAILED: /'
    [ -z "$known" ] || comm -13 <(echo "$names") <(echo "$known") | sed 's/^/    known to fail, but not as it was: /'
    echo "    exit $code, output in $out/$row.txt"
}
# Of programs that say `N of M ... pass` at the end: a script that finds what fails, and what is known to.
counted() {
    local last
    last=$(found '/^[0-9][0-9]* of [0-9][0-9]* /p' | tail -1)
    local words=($last)
    verdict "${words[0]-0}" "${words[2]-0}" "$last" "$(found "$1")" "${2-}"
}
# Of pytest: of all that ran, so without those that it skipped.
pytested() {
    local last
    last=$(found '/^[0-9].* in [0-9.]*s/p' | tail -1)
    number() { grep -o "[0-9]* $1" <<<"$last" | grep -o '[0-9]*' || echo 0; }
    local right all skipped
    right=$(number passed)
    all=$((right + $(number failed) + $(number error)))
    skipped=$(number skipped)
    verdict "$right" "$all" "${last:+$right of $all tests pass, $skipped skipped}" \
        "$(found 's/^\(FAILED\|ERROR\) \(.*\.py::\)\{0,1\}\([^[ ]*\).*/\3/p')" "${1-}"
}
# Packages that three rows share.
packages() {
    venv opencl opencv-python-headless pyopencl pytest numpy 'silx[full]' pyFAI scipy
}

for row; do
    chosen=()
    [ "$row" = "${row#*:}" ] || IFS=, read -r -a chosen <<<"${row#*:}"
    row=${row%%:*}
    case $row in
    hashcat)
        needs hashcat hashcat || continue
        [ ${#chosen[@]} -gt 0 ] && modes=("${chosen[@]}") || modes=(0 10 100 110 300 400 500 600 900 1000 1400 1500 1700
            2400 3000 5100 6000 8100 10800 17300 17400 21000)
        run "$here/hashcat.sh" "$ptxrun" "${modes[@]}"
        counted '/^mode /p'
        ;;
    hashcat-kernels)
        folder=/usr/share/hashcat/OpenCL
        needs $folder/inc_types.h hashcat-data || continue
        # Attacks of mode 3, attacks in one file, no mode.
        [ ${#chosen[@]} -gt 0 ] && files=("${chosen[@]}") || files=('m*_a3*' 'm?????-*' amp_a0 amp_a1 amp_a3 markov_be
            markov_le shared)
        run "$here/kernels.sh" "$ptxrun" hashcat $folder "${files[@]}"
        counted '/^[a-z0-9_-]*: /p'
        ;;
    opencv)
        needs /usr/include/CL/cl.h opencl-headers ocl-icd-opencl-dev && packages || continue
        exec_ "$venvs/opencl/bin/python" "$here/opencv_umat.py" ${chosen[@]+"${chosen[@]}"}
        counted 's/: FAILED, /: /p'
        ;;
    darktable)
        folder=/usr/share/darktable/kernels
        needs $folder/basic.cl darktable || continue
        run "$here/kernels.sh" "$ptxrun" darktable $folder ${chosen[@]+"${chosen[@]}"}
        counted '/^[a-z0-9_-]*: /p'
        ;;
    ffmpeg)
        needs ffmpeg ffmpeg || continue
        run "$here/ffmpeg.sh" "$ptxrun"
        counted 's/: fails /: /p'
        ;;
    clblast)
        needs clblast_test_xgemm clblast-tests && needs bc bc || continue
        run "$here/clblast.sh" "$ptxrun" ${chosen[@]+"${chosen[@]}"}
        counted '/^x[a-z0-9]*: exit /p' "$known_clblast"
        ;;
    clfft)
        needs /usr/include/clFFT.h libclfft-dev opencl-headers ocl-icd-opencl-dev || continue
        cc -O1 "$here/clfft.c" -o "$out/clfft" -lclFFT -lOpenCL -lm ||
            { line "$row" "does not compile"; fails; continue; }
        exec_ "$out/clfft"
        counted '/^[0-9]*x[0-9]*x[0-9]*, /p'
        ;;
    viennacl)
        needs /usr/include/viennacl libviennacl-dev libboost-dev opencl-headers ocl-icd-opencl-dev || continue
        c++ -O1 -DCL_TARGET_OPENCL_VERSION=300 "$here/viennacl.cpp" -o "$out/viennacl" -lOpenCL ||
            { line "$row" "does not compile"; fails; continue; }
        exec_ "$out/viennacl"
        counted 's/: error .*//p' "$known_viennacl"
        ;;
    pyopencl)
        venv pyopencl pyopencl==2026.1.4 numpy Mako pytest || continue
        # Its source package, for the tests alone.
        tests=$venvs/pyopencl-2026.1.4/test
        [ -d "$tests" ] || (cd "$venvs" && "$venvs/pyopencl/bin/pip" download -q --no-deps --no-binary pyopencl \
            pyopencl==2026.1.4 && tar -xzf pyopencl-2026.1.4.tar.gz pyopencl-2026.1.4/test) ||
            { line "$row" "not installed: pip download --no-binary pyopencl pyopencl==2026.1.4"; fails; continue; }
        exec_ env -C "$tests" "$venvs/pyopencl/bin/python" -m pytest -q -p no:cacheprovider
        pytested "$known_pyopencl"
        ;;
    silx | pyfai)
        packages || continue
        exec_ "$venvs/opencl/bin/python" "$here/silx_tests.py" "${row/pyfai/pyFAI}"
        pytested
        ;;
    clpeak)
        needs clpeak clpeak || continue
        exec_ clpeak
        # All that it measures has a figure; before come words about the device.
        lines=$(found '/bandwidth (/,$p' | grep -e ' :' -e '[Ee]rror' -e ERROR -e 'Tests skipped')
        measured=$(grep -c ' : [0-9.][0-9.]*\( us\)\{0,1\}$' <<<"$lines")
        names=$(grep -v ' : [0-9.][0-9.]*\( us\)\{0,1\}$' <<<"$lines" | sed 's/^ *//')
        all=$((measured + $([ -z "$names" ] && echo 0 || wc -l <<<"$names")))
        verdict "$measured" "$all" "$measured of $all measurements end" "$names"
        ;;
    *)
        echo "no row is called $row; there are $rows" >&2
        exit 2
        ;;
    esac
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
