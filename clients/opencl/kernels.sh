#!/bin/sh
# Compiles the kernels of programs, as these programs do: clients/opencl/kernels.sh PTXRUN hashcat|darktable FOLDER [NAME...]
# FOLDER holds the .cl files (/usr/share/hashcat/OpenCL, /usr/share/darktable/kernels). Prints what fails, with the
# first error, and how many compile. Names choose files: `m00000*`.
set -u
ptxrun=$1
program=$2
folder=$3
shift 3
[ $# -gt 0 ] || set -- '*'
passed=0
total=0
for pattern; do
    for file in "$folder"/$pattern.cl; do
        name=$(basename "$file" .cl)
        case $program in
        darktable) options="-w -cl-fast-relaxed-math -I$folder" ;;
        hashcat)
            # Parts of others, and modes whose options only their modules know.
            case $name in inc_*) continue ;; esac
            kern=0 exec=10
            case $name in *-pure | *-optimized) exec=11 ;; esac
            case $name in *_a1-*) kern=1 ;; *_a3-*) kern=3 ;; esac
            options="-w -cl-std=CL3.0 -I$folder -DINCLUDE_PATH=$folder -DKERNEL_STATIC -DLOCAL_MEM_TYPE=1"
            options="$options -DVENDOR_ID=2147483648 -DCUDA_ARCH=0 -DHAS_VPERM=0 -DHAS_VADD3=0 -DHAS_VBFE=0 -DHAS_BFE=0"
            options="$options -DHAS_LOP3=0 -DHAS_MOV64=0 -DHAS_PRMT=0 -DHAS_ADD=0 -DHAS_ADDC=0 -DHAS_SUB=0 -DHAS_SUBC=0"
            options="$options -DVECT_SIZE=1 -DDEVICE_TYPE=2 -DDGST_R0=0 -DDGST_R1=1 -DDGST_R2=2 -DDGST_R3=3"
            options="$options -DDGST_ELEM=4 -DKERN_TYPE=0 -DATTACK_EXEC=$exec -DATTACK_KERN=$kern -DATTACK_MODE=$kern"
            # bcrypt keeps 4 KiB a work-item in local memory: a group must fit into 48 KiB.
            group=32
            case $name in m03200-* | m09000-* | m18600-* | m25600-* | m25800-* | m28400-*) group=11 ;; esac
            options="$options -DFIXED_LOCAL_SIZE=$group -DFIXED_LOCAL_SIZE_COMP=$group"
            options="$options -DSCRYPT_N=1024 -DSCRYPT_R=1 -DSCRYPT_P=1 -DSCRYPT_TMTO=0 -DSCRYPT_TMP_ELEM=32"
            ;;
        *) echo "no program is called $program" >&2 && exit 2 ;;
        esac
        total=$((total + 1))
        # The options hold no blanks.
        # shellcheck disable=SC2086
        if message=$("$ptxrun" cc --target sm_90 $options "-DXM2S(x)=#x" "-DM2S(x)=XM2S(x)" -o /dev/null "$file" 2>&1); then
            passed=$((passed + 1))
        else
            echo "$name: $(echo "$message" | head -1)"
        fi
    done
done
echo "$passed of $total kernel files compile"
[ "$passed" -eq "$total" ]
