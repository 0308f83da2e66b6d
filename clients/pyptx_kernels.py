"""The kernels that pyptx brings as examples, with PyTorch's tensors. Every example compares its own result; the sizes
are its smaller ones. Each runs in a process of its own, as a fault ends the context.

    ptxrun exec --device sm_80 -- python clients/pyptx_kernels.py ampere [NAME...]    # hopper: sm_90, blackwell: sm_100

Exits with 1 where a result is wrong or an example does not run, and KNOWN does not name it.
"""

import contextlib
import importlib
import io
import re
import subprocess
import sys
import time

import torch

ROWS = [(4, 64), (16, 512), (32, 1024)]
GATES = [(4, 512), (16, 512), (32, 1024)]
SMALL = [(16, 8, 16), (16, 8, 64), (32, 16, 32), (64, 32, 64), (128, 64, 128)]
EXPERTS = [(1, 64, 8, 32), (2, 64, 8, 32), (4, 64, 16, 32), (8, 128, 16, 64), (4, 256, 32, 128)]
# Not 64: that kernel stores its probabilities at the start of dynamic shared memory and reads them 48 KiB behind.
HEADS = [(m, m, d) for d in (16, 32) for m in (128, 512)]
CASE, TORCH = "_run_torch_case", "run_torch"
# These free Tensor Memory in one warp while others have not read it yet: an error here.
KNOWN = [
    "blackwell.tcgen05_suite",
    "blackwell.gemm_highperf_blackwell.run_torch_2sm",
    "blackwell.grouped_gemm.run_torch(8",
]
# Folder, module, function, and the arguments of its calls.
EXAMPLES = [
    ("ampere", "softmax", CASE, ROWS),
    ("ampere", "layer_norm", CASE, ROWS),
    ("ampere", "rms_norm", CASE, ROWS),
    ("ampere", "swiglu", CASE, GATES),
    ("ampere", "gemm", CASE, SMALL),
    ("ampere", "gemm_pipelined", CASE, [(64, 64, 64), (64, 64, 256), (128, 128, 128), (256, 256, 256)]),
    ("ampere", "gemm_highperf_ampere", CASE, [(128, 128, 32), (128, 128, 64), (128, 128, 256), (256, 256, 256)]),
    ("hopper", "softmax", CASE, ROWS),
    ("hopper", "layer_norm", CASE, ROWS),
    ("hopper", "rms_norm", CASE, ROWS),
    ("hopper", "swiglu", CASE, GATES),
    ("hopper", "grouped_gemm", TORCH, EXPERTS),
    ("hopper", "gemm_highperf_hopper", CASE, [(512,), (1024,)]),
    ("hopper", "experimental.flash_attention_wgmma_kloop", CASE, [(16,), (64,), (256,)]),
    ("hopper", "experimental.flash_attention_parallel", CASE, [(64, 64), (128, 128), (256, 256)]),
    ("hopper", "experimental.flash_attention_hopper", CASE, HEADS),
    ("blackwell", "layer_norm", CASE, ROWS),
    ("blackwell", "rms_norm", CASE, ROWS),
    ("blackwell", "swiglu", CASE, GATES),
    ("blackwell", "grouped_gemm", TORCH, [(1, 128, 64, 64), (2, 128, 64, 64), (4, 128, 64, 128), (8, 128, 64, 256)]),
    ("blackwell", "gemm_highperf_blackwell", TORCH, [(128, 256, 64), (256, 256, 64), (128, 256, 128), (256, 512, 128)]),
    ("blackwell", "gemm_highperf_blackwell", "run_torch_2sm", [(256, 256, 64), (256, 256, 128), (512, 512, 256)]),
    ("blackwell", "tcgen05_suite", "main", [()]),
]


def run(folder, module, function, arguments):
    """What an example says of itself."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        getattr(importlib.import_module(f"pyptx.examples.{folder}.{module}"), function)(*arguments)
        torch.cuda.synchronize()
    return [line for line in said.getvalue().splitlines() if line.strip()]


def run_all(index):
    """The calls of an example, with what went wrong."""
    folder, module, function, calls = EXAMPLES[index]
    right = count = surprises = 0
    for arguments in calls:
        begin = time.time()
        try:
            lines = run(folder, module, function, arguments)
        except Exception as error:  # noqa: BLE001, whatever it is, it is this one's
            last = (str(error).strip() or repr(error)).splitlines()[-1]
            lines = [f"FAIL {type(error).__name__}: {last[:200]}"]
        # An example says of each result whether it is right; one that says nothing has shown nothing.
        good = sum("OK" in line or "[PASS]" in line for line in lines)
        bad = sum("FAIL" in line for line in lines) or int(good == 0)
        right, count = right + good, count + good + bad
        name = f"{module}.{function}{arguments}"
        known = bool(bad) and any(f"{folder}.{name}".startswith(k) for k in KNOWN)
        surprises += bool(bad) and not known
        word = "right" if not bad else "known to fail" if known else "WRONG"
        print(f"{name}: {word}, {time.time() - begin:.1f} s", flush=True)
        if bad:
            print("\n".join(f"    {line}" for line in lines), flush=True)
    print(f"{right} of {count}, {surprises}", flush=True)


def main():
    folder, *names = sys.argv[1:] or ["hopper"]
    if folder.isdigit():
        run_all(int(folder))
        return 0
    right = count = surprises = 0
    for index, example in enumerate(EXAMPLES):
        if example[0] != folder or names and example[1] not in names:
            continue
        done = subprocess.run([sys.executable, __file__, str(index)], stdout=subprocess.PIPE, text=True)
        *lines, score = done.stdout.splitlines() or ["no end"]
        print("\n".join(lines), flush=True)
        found = re.fullmatch(r"(\d+) of (\d+), (\d+)", score)
        if not found or done.returncode:
            print(f"{example[1]}: the process ended with {done.returncode}: {score}")
        right += int(found[1]) if found else 0
        count += int(found[2]) if found else len(example[3])
        surprises += int(found[3]) if found and not done.returncode else 1
    print(f"pyptx for {folder}, PyTorch {torch.__version__}: {right} of {count} right")
    return 1 if surprises or not count else 0


if __name__ == "__main__":
    sys.exit(main())
