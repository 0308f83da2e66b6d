#!/bin/sh
# Runs the clients of docs/clients.md against the libraries of a build: clients/run.sh [target/release] [CLIENT...]
# Clients: driver_api cuda_core nvcc tinygrad numba triton gluon torch pyptx tilelang cutlass cccl taichi jax rust burn
# hashcat pycuda; all of them where none is named. Needs Python 3.11, clang (for tinygrad's CPU device), g++ (for nvcc
# and pycuda), cargo (for rust and burn), hashcat and, the first time, the network.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
build=$(cd "${1:-$root/target/release}" && pwd) || exit 2
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- driver_api cuda_core nvcc tinygrad numba triton gluon torch pyptx tilelang cutlass cccl taichi \
    jax rust burn hashcat pycuda
venvs=$root/target/clients
mkdir -p "$venvs"
failed=

# A virtual environment with packages, made once.
venv() {
    name=$1
    shift
    if [ ! -e "$venvs/$name/complete" ]; then
        python3 -m venv "$venvs/$name" && "$venvs/$name/bin/pip" install -q "$@" && touch "$venvs/$name/complete" || exit 2
    fi
}
cu() { echo "$venvs/$1"/lib/python3*/site-packages/nvidia/cu13; }
exec_() { PTXRUN_LIBDIR=$build "$build/ptxrun" exec -- "$@"; }
# A folder with NVRTC under the names that programs load.
nvrtc() {
    mkdir -p "$venvs/nvrtc/names"
    for library in "$(cu nvrtc)"/lib/libnvrtc*; do ln -sf "$library" "$venvs/nvrtc/names/"; done
    ln -sf "$(cu nvrtc)/lib/libnvrtc.so.13" "$venvs/nvrtc/names/libnvrtc.so"
}
# PyTorch and Triton of the versions that recordings were made with.
recorded() { venv triton36 torch==2.11.0 triton==3.6.0 numpy; }
check() { # name, status
    if [ "$2" -eq 0 ]; then echo "== $1: passed"; else echo "== $1: FAILED"; failed="$failed $1"; fi
}

for client; do
    case $client in
    driver_api)
        exec_ python3 "$here/driver_api.py"
        check driver_api $?
        ;;
    cuda_core)
        venv core cuda-core cuda-bindings nvidia-cuda-nvrtc numpy
        exec_ "$venvs/core/bin/python" "$here/cuda_core.py"
        check cuda_core $?
        ;;
    triton)
        venv triton triton numpy
        exec_ "$venvs/triton/bin/python" "$here/triton_kernels.py"
        check triton $?
        recorded
        for program in triton_language triton_tutorials; do
            exec_ "$venvs/triton36/bin/python" "$here/$program.py" --beside "$here/$program.recorded"
            check "$program" $?
        done
        ;;
    gluon)
        venv torch torch numpy
        for device in sm_80 sm_90 sm_100; do
            PTXRUN_LIBDIR=$build "$build/ptxrun" exec --device $device -- "$venvs/torch/bin/python" \
                "$here/gluon_kernels.py"
            check "Gluon, $device" $?
        done
        ;;
    pyptx)
        venv pyptx torch numpy pyptx cuda-python jax
        for generation in ampere:sm_80 hopper:sm_90 blackwell:sm_100; do
            PTXRUN_LIBDIR=$build "$build/ptxrun" exec --device "${generation#*:}" -- "$venvs/pyptx/bin/python" \
                "$here/pyptx_kernels.py" "${generation%:*}"
            check "pyptx, ${generation%:*}" $?
        done
        ;;
    tilelang)
        # The compiler of the version that PyTorch's headers have.
        venv tilelang 'tilelang[nvcc]' torch==2.15.0 numpy 'nvidia-cuda-nvcc==13.2.*' 'nvidia-cuda-crt==13.2.*' \
            'nvidia-nvvm==13.2.*'
        toolkit=$(cu tilelang)
        # It calls nvcc for machine code; with our assembler first in PATH that is what our driver loads.
        mkdir -p "$venvs/tilelang/assembler"
        ln -sf "$build/ptxrun" "$venvs/tilelang/assembler/ptxas"
        PATH=$venvs/tilelang/assembler:$toolkit/bin:$toolkit/nvvm/bin:$PATH \
            NVCC_PREPEND_FLAGS="-noprof -I$toolkit/include -I$toolkit/include/cccl" \
            exec_ "$venvs/tilelang/bin/python" "$here/tilelang_kernels.py"
        check tilelang $?
        ;;
    nvcc)
        venv nvcc nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl
        toolkit=$(cu nvcc)
        out=$venvs/programs
        mkdir -p "$out"
        ln -sf "$toolkit/lib/libcudart.so.13" "$out/libcudart.so"
        ln -sf "$toolkit/lib/libcudart_static.a" "$toolkit/lib/libcudadevrt.a" "$out/"
        compile="$toolkit/bin/nvcc -std=c++17 -arch=compute_90 -code=compute_90 -I$toolkit/include/cccl -L$out"
        for source in "$here"/nvcc/*.cu; do
            program=$(basename "$source" .cu)
            for streams in legacy per-thread; do
                $compile -default-stream $streams -cudart shared -o "$out/$program" "$source" && exec_ "$out/$program"
                check "nvcc $program, $streams default stream" $?
            done
        done
        $compile -rdc=true -cudart shared -o "$out/relocatable" "$here"/nvcc/relocatable/*.cu && exec_ "$out/relocatable"
        check "nvcc -rdc=true" $?
        # The library of CUDA 12 and its headers; what they include from crt/ is in the other toolkit.
        venv cu12 nvidia-cuda-runtime-cu12
        runtime12=$(echo "$venvs"/cu12/lib/python3*/site-packages/nvidia/cuda_runtime)
        g++ -std=c++17 -I"$runtime12/include" -I"$toolkit/include" -o "$out/cuda12" "$here/nvcc/cuda12.cpp" \
            -L"$runtime12/lib" -l:libcudart.so.12 && exec_ "$out/cuda12"
        check "CUDA 12 runtime" $?
        # NVIDIA's runtime inside of the program: an error, and a message that says what to do.
        $compile -cudart static -o "$out/static" "$here/nvcc/vector_add.cu"
        exec_ "$out/static" 2>&1 | tee "$out/static.txt"
        grep -q -e "-cudart shared" "$out/static.txt"
        check "nvcc static: message" $?
        ;;
    torch)
        venv torch torch numpy
        for program in "torch_programs.py" "torch_features.py" "torch_random.py $here/torch_random.recorded"; do
            # shellcheck disable=SC2086 # the recording is a word of its own
            (cd "$here" && exec_ "$venvs/torch/bin/python" $program)
            check "torch: ${program%%.py*}" $?
        done
        recorded
        (cd "$here" && exec_ "$venvs/triton36/bin/python" torch_kernels.py torch_kernels.recorded --programs)
        check "torch: torch_kernels" $?
        ;;
    cutlass)
        venv nvcc nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl
        venv cutlass nvidia-cutlass
        toolkit=$(cu nvcc)
        cutlass=$(echo "$venvs"/cutlass/lib/python3*/site-packages/cutlass_library/source)
        out=$venvs/programs
        mkdir -p "$out"
        ln -sf "$toolkit/lib/libcudart.so.13" "$out/libcudart.so"
        gemm() { # program, architecture, source, options
            "$toolkit/bin/nvcc" -std=c++17 --expt-relaxed-constexpr -gencode "arch=compute_$2,code=compute_$2" \
                -I"$cutlass/include" -I"$cutlass/tools/util/include" -I"$toolkit/include" -I"$toolkit/include/cccl" \
                -L"$out" -cudart shared -o "$out/$1" "$here/cutlass/$3.cu" ${4-}
        }
        gemm gemm 100a gemm && PTXRUN_LIBDIR=$build "$build/ptxrun" exec --device sm_100a -- "$out/gemm"
        check "CUTLASS, tcgen05" $?
        gemm gemm_pairs 100a gemm -DPAIRS &&
            PTXRUN_LIBDIR=$build "$build/ptxrun" exec --device sm_100a -- "$out/gemm_pairs"
        check "CUTLASS, tcgen05 on pairs of SMs" $?
        gemm gemm_sm90 90a gemm_sm90 &&
            PTXRUN_LIBDIR=$build "$build/ptxrun" exec --device sm_90a -- "$out/gemm_sm90" |
            diff - "$here/cutlass/gemm_sm90.recorded"
        check "CUTLASS, wgmma, as an H200's" $?
        ;;
    cccl)
        venv nvcc nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl
        toolkit=$(cu nvcc)
        out=$venvs/programs
        mkdir -p "$out"
        ln -sf "$toolkit/lib/libcudart.so.13" "$out/libcudart.so"
        "$toolkit/bin/nvcc" -std=c++17 -gencode arch=compute_90,code=compute_90 -I"$toolkit/include/cccl" -L"$out" \
            -cudart shared -o "$out/cccl" "$here/cccl/device.cu" && exec_ "$out/cccl" | diff - "$here/cccl/device.expected"
        check "CUB and Thrust" $?
        ;;
    tinygrad)
        venv tiny tinygrad nvidia-cuda-nvrtc nvidia-cuda-runtime numpy
        export NVRTC_PATH="$(cu tiny)/lib/libnvrtc.so.13" CUDA_PATH="$(cu tiny)"
        for dev in CUDA "CPU;MOCK+CUDA" "CPU;MOCK+CUDA:PTX"; do
            DEV=$dev exec_ "$venvs/tiny/bin/python" "$here/tinygrad_ops.py"
            check "tinygrad DEV=$dev" $?
        done
        unset NVRTC_PATH CUDA_PATH
        ;;
    numba)
        venv numba 'numba-cuda[cu13]' cffi ml_dtypes psutil pytest filecheck
        exec_ "$venvs/numba/bin/python" "$here/numba_tests.py"
        check numba $?
        ;;
    taichi)
        venv taichi taichi numpy
        exec_ "$venvs/taichi/bin/python" "$here/taichi_kernels.py"
        check taichi $?
        ;;
    jax)
        venv jax jax==0.10.2 jax-cuda13-plugin==0.10.2 nvidia-nvvm
        # The one that belongs to 0.10.2 wants cuDNN.
        "$venvs/jax/bin/pip" install -q --no-deps jax-cuda13-pjrt==0.12.0.1 || exit 2
        # Where XLA looks for the assembler and libdevice. JAX wants to see the file of a device.
        mkdir -p "$venvs/xla/bin"
        ln -sf "$build/ptxrun" "$venvs/xla/bin/ptxas"
        ln -sfn "$(cu jax)/nvvm" "$venvs/xla/nvvm"
        [ -e /dev/nvidiactl ] || touch /dev/nvidiactl
        flags="--xla_gpu_autotune_level=0 --xla_gpu_experimental_autotune_backends=TRITON"
        PATH=$venvs/xla/bin:$PATH JAX_SKIP_CUDA_CONSTRAINTS_CHECK=1 \
            XLA_FLAGS="--xla_gpu_cuda_data_dir=$venvs/xla $flags" exec_ "$venvs/jax/bin/python" "$here/jax_programs.py"
        check jax $?
        ;;
    rust)
        venv nvrtc nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt
        nvrtc
        # The suites that the crates bring, run by cargo under `ptxrun exec`.
        suite() { # crate, version, options of cargo, a bar, names that are left out
            folder=$venvs/$1-$2
            if [ ! -d "$folder" ]; then
                curl -sSfL "https://static.crates.io/crates/$1/$1-$2.crate" | tar -xz -C "$venvs"
                # It lies below another workspace.
                echo '[workspace]' >> "$folder/Cargo.toml"
            fi
            name=$1
            shift 2
            (cd "$folder" && PTXRUN_LIBDIR=$build CUDA_PATH=$(cu nvrtc) LD_LIBRARY_PATH=$venvs/nvrtc/names \
                CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="$build/ptxrun exec --" cargo test -q --lib "$@")
            check "$name" $?
        }
        # Host memory that is slower than pinned memory; code for cc 5.3, which NVRTC 13 does not make.
        suite cudarc 0.19.10 --no-default-features --features std,driver,nvrtc,runtime,f16,dynamic-loading,cuda-13040 \
            -- --skip test_pinned_copy_is_faster --skip test_default_pinned_host_reads --skip test_launch_with_half
        # Kernels of its own that read behind their shared memory: an error here.
        suite cubecl-cuda 0.9.0 -- --skip reinterpret_slice_f16::shared_memory
        ;;
    burn)
        venv nvrtc nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt
        nvrtc
        cargo build -q --manifest-path "$here/burn/Cargo.toml" --target-dir "$venvs/burn" &&
            CUDA_PATH=$(cu nvrtc) LD_LIBRARY_PATH=$venvs/nvrtc/names exec_ "$venvs/burn/debug/burn_programs"
        check burn $?
        ;;
    hashcat)
        venv nvrtc nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt
        nvrtc
        # The CUDA device is the first one; `-m` asks for MD5, SHA-1, SHA-256.
        words=$venvs/words
        { echo hashcat; seq 1000; } > "$words"
        for mode in 0:md5sum 100:sha1sum 1400:sha256sum; do
            printf hashcat | "${mode#*:}" | cut -d ' ' -f 1 > "$words.hash"
            LD_LIBRARY_PATH=$venvs/nvrtc/names exec_ hashcat -d 1 -m "${mode%:*}" -a 0 -O --potfile-disable \
                "$words.hash" "$words" | grep ":hashcat"
            check "hashcat, ${mode#*:}" $?
        done
        ;;
    pycuda)
        venv pycuda nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl \
            nvidia-cuda-profiler-api setuptools wheel numpy pytools platformdirs mako pytest
        toolkit=$(cu pycuda)
        folder=$venvs/pycuda-2026.1
        mkdir -p "$folder/names"
        # Where it looks for libraries and for the assembler.
        ln -sfn lib "$toolkit/lib64"
        ln -sf "$build/libptxrun_core.so" "$folder/names/libcuda.so"
        ln -sf "$toolkit/lib/libcudart.so.13" "$folder/names/libcudart.so"
        ln -sf "$build/ptxrun" "$folder/names/ptxas"
        path=$folder/names:$toolkit/bin:$toolkit/nvvm/bin:$PATH
        if [ ! -e "$folder/complete" ]; then
            (cd "$venvs" && "$venvs/pycuda/bin/pip" download -q --no-deps --no-build-isolation --no-binary :all: \
                pycuda==2026.1 && tar -xzf pycuda-2026.1.tar.gz) || exit 2
            (cd "$folder" && export PATH="$path" CPATH="$toolkit/include" && "$venvs/pycuda/bin/python" configure.py \
                --cuda-root="$toolkit" --cuda-inc-dir="$toolkit/include" --cudadrv-lib-dir="$folder/names" \
                --cudart-lib-dir="$folder/names" --no-cuda-enable-curand && "$venvs/pycuda/bin/pip" install -q \
                --no-build-isolation . && touch "$folder/complete") || exit 2
        fi
        # From a folder of their own: beside them lies the source that is not built. Two launch from kernels.
        mkdir -p "$folder/tests" && cp "$folder/test/test_driver.py" "$folder/tests/"
        (cd "$folder/tests" && PATH=$path PYCUDA_DEFAULT_NVCC_FLAGS="-noprof -I$toolkit/include" \
            PTXRUN_LIBDIR=$build "$build/ptxrun" exec --device sm_90 -- "$venvs/pycuda/bin/python" -m pytest -q \
            test_driver.py -k "not recursive_launch and not jit_link_module")
        check pycuda $?
        ;;
    *)
        echo "no client is called $client" >&2
        exit 2
        ;;
    esac
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
