"""What `-v` says of kernels, ours beside NVIDIA's, as the table of docs/clients/ptxas.md.

    python3 clients/ptxas_beside.py OURS NVIDIAS sm_90a FOLDER [KERNEL...]

OURS and NVIDIAS are the two programs `ptxas`; FOLDER holds PTX, such as Triton's cache. A kernel that is there more
than once is taken from its longest text. Exits with 1 where one of them refuses a kernel, or where anything but
registers, spills and constants differs.
"""

import math
import pathlib
import re
import subprocess
import sys
import tempfile

ENTRY = re.compile(r"\.entry\s+([\w$]+)")
FIGURES = {
    "registers": r"Used (\d+) registers",
    "barriers": r"used (\d+) barriers",
    "stack": r"(\d+) bytes stack frame",
    "spilled": r"(\d+) bytes spill stores",
    "shared": r"(\d+) bytes smem",
    "global": r"(\d+) bytes gmem",
}
# What a program may see of a kernel. An assembler that spills has a stack frame for it.
SAME = ["barriers", "stack", "shared", "global"]


def longest_texts(folder):
    """The longest text of each kernel, by its name."""
    texts = {}
    for path in sorted(pathlib.Path(folder).rglob("*.ptx")):
        text = path.read_text()
        for name in ENTRY.findall(text):
            if len(text) > len(texts.get(name, (None, ""))[1]):
                texts[name] = path, text
    return {name: path for name, (path, _) in texts.items()}


def figures(assembler, device, path, kernel):
    """What `-v` says of a kernel."""
    with tempfile.NamedTemporaryFile(suffix=".o") as out:
        words = [assembler, "-v", f"--gpu-name={device}", str(path), "-o", out.name]
        done = subprocess.run(words, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode:
        return None, said
    of_kernel = said.split(f"Compiling entry function '{kernel}'")[1].split("Compiling entry function")[0]
    return {
        name: int(match[1]) if (match := re.search(pattern, said if name == "global" else of_kernel)) else 0
        for name, pattern in FIGURES.items()
    }, said


def main():
    ours, theirs, device, folder, *chosen = sys.argv[1:]
    texts = longest_texts(folder)
    missing = [name for name in chosen if name not in texts]
    if missing:
        sys.exit(f"no text has the kernels {', '.join(missing)}")
    print("| kernel | registers | NVIDIA's | barriers | differs |\n| --- | --- | --- | --- | --- |")
    ratios, failed = [], False
    for name in chosen or sorted(texts):
        (a, said), (b, told) = (figures(assembler, device, texts[name], name) for assembler in (ours, theirs))
        if a is None or b is None:
            ours_said, theirs_said = (f["registers"] if f else "refused" for f in (a, b))
            print(f"| `{name}` | {ours_said} | {theirs_said} | | |")
            print((said if a is None else told).strip(), file=sys.stderr)
            failed = True
            continue
        differs = [f"{f} {a[f]}, NVIDIA's {b[f]}" for f in SAME if a[f] != b[f] and not (f == "stack" and b["spilled"])]
        spilled = [f"NVIDIA's spills {b['spilled']} bytes"] if b["spilled"] else []
        failed |= bool(differs)
        ratios.append(a["registers"] / b["registers"])
        print(f"| `{name}` | {a['registers']} | {b['registers']} | {a['barriers']} | {'; '.join(differs + spilled)} |")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\n{len(ratios)} kernels; registers are {mean:.2f} times NVIDIA's in geometric mean")
    return 1 if failed or not ratios else 0


if __name__ == "__main__":
    sys.exit(main())
