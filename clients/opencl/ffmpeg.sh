#!/bin/sh
# FFmpeg's OpenCL filters beside the same filter on the processor: clients/opencl/ffmpeg.sh PTXRUN
# A filter passes when the two pictures differ by noise only (PSNR), or, where FFmpeg has no such filter for the
# processor, when it makes pictures.
set -u
ptxrun=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0
total=0
source="-f lavfi -i testsrc2=s=160x120:r=10:d=0.5"
cl="-init_hw_device opencl=cl:0.0 -filter_hw_device cl"

# verdict NAME LEAST GRAPH: LEAST decibels, or none.
verdict() {
    total=$((total + 1))
    # The options hold no blanks of their own.
    # shellcheck disable=SC2086
    "$ptxrun" exec -- ffmpeg -hide_banner -nostdin $cl $source $source -filter_complex "$3" -f null - >"$log" 2>&1
    code=$?
    average=$(sed -n 's/.*PSNR.*average:\([^ ]*\).*/\1/p' "$log")
    frames=$(tr '\r' '\n' <"$log" | sed -n 's/^frame= *\([0-9]*\).*/\1/p' | tail -1)
    if [ "$code" -eq 0 ] && [ "${frames:-0}" -gt 0 ] && ! grep -q "[Ff]ailed\|^error" "$log" &&
        { [ "$2" = none ] || [ "$average" = inf ] || [ "${average%.*}" -ge "$2" ]; }; then
        passed=$((passed + 1))
        echo "$1: passes (${average:-$frames frames})"
    else
        echo "$1: fails (exit $code, ${average:-nothing to compare}) $(grep -m1 -e "[Ff]ailed" -e "^error" "$log")"
    fi
}

# both NAME FORMAT OPENCL PROCESSOR [LEAST]: one input, compared. The edge filters, `nlmeans`, `colorkey` and `xfade` of
# FFmpeg compute something else for OpenCL than for the processor; PoCL gives the same decibels to four figures or more.
both() {
    verdict "$1" "${5:-40}" "[0]format=$2,split[a][b];[a]hwupload,$3,hwdownload,format=$2[x];[b]$4[y];[x][y]psnr"
}

both avgblur yuv420p avgblur_opencl=sizeX=3 avgblur=sizeX=3
both boxblur yuv420p boxblur_opencl=2:1 boxblur=2:1
both convolution yuv420p "convolution_opencl=1 1 1 1 1 1 1 1 1:1 1 1 1 1 1 1 1 1:1 1 1 1 1 1 1 1 1:1 1 1 1 1 1 1 1 1:0.1111111:0.1111111:0.1111111:0.1111111" \
    "convolution=1 1 1 1 1 1 1 1 1:1 1 1 1 1 1 1 1 1:1 1 1 1 1 1 1 1 1:1 1 1 1 1 1 1 1 1:0.1111111:0.1111111:0.1111111:0.1111111"
both dilation yuv420p dilation_opencl dilation
both erosion yuv420p erosion_opencl erosion
both prewitt yuv420p prewitt_opencl prewitt 25
both roberts yuv420p roberts_opencl roberts 35
both sobel yuv420p sobel_opencl sobel 25
both transpose yuv420p transpose_opencl=clock transpose=clock
both transpose_half yuv420p transpose_opencl=cclock_flip transpose=cclock_flip
both unsharp yuv420p unsharp_opencl=5:5:1 unsharp=5:5:1:5:5:0
both pad yuv420p pad_opencl=w=200:h=160:x=20:y=20 pad=w=200:h=160:x=20:y=20
both nlmeans yuv420p nlmeans_opencl=s=3:p=3:r=7 nlmeans=s=3:p=3:r=7 34
both colorkey rgba colorkey_opencl=red:0.3:0.2 colorkey=red:0.3:0.2 20
verdict overlay 40 "[0]format=yuv420p,split[a][b];[1]scale=80:60,format=yuv420p,split[c][d];[a]hwupload[ah];[c]hwupload[ch];[ah][ch]overlay_opencl=8:8,hwdownload,format=yuv420p[x];[b][d]overlay=8:8[y];[x][y]psnr"
verdict xfade 37 "[0]format=yuv420p,fps=10,split[a][b];[1]negate,format=yuv420p,fps=10,split[c][d];[a]hwupload[ah];[c]hwupload[ch];[ah][ch]xfade_opencl=duration=0.3:offset=0.1,hwdownload,format=yuv420p[x];[b][d]xfade=duration=0.3:offset=0.1[y];[x][y]psnr"
verdict tonemap none "[0]format=p010,setparams=color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc,hwupload,tonemap_opencl=format=nv12,hwdownload,format=nv12"
verdict deshake none "[0]format=yuv420p,hwupload,deshake_opencl,hwdownload,format=yuv420p"
echo "$passed of $total filters pass"
[ "$passed" -eq "$total" ]
