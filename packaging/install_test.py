#!/usr/bin/env python3
"""Installs each package in a bare Debian and times the way to the first checked result. Needs root and debootstrap.

    packaging/install_test.py target/packages

The system is made once (`debootstrap --variant=minbase`) and copied for each package: it has neither compiler nor
cargo, and no network is used once it is made.
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

#: Longest time from the package to the result, in seconds.
LIMIT = 10.0
CHECKED = "ok      C: 1536 x f32, every bit as expected"
#: What programs find; the assembler says who it is, the libraries are listed.
FOUND = "exec -- sh -c '$TRITON_PTXAS_PATH --version; ls $LD_LIBRARY_PATH'"
NAMES = ["Cuda compilation tools", "libcuda.so.1", "libcudart.so.13", "libcudart.so.12", "libnvJitLink.so.13"]


#: A user's variables; those of cargo, which calls this, name folders that are not there.
VARIABLES = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}


def chroot(root: Path, script: str) -> subprocess.CompletedProcess:
    line = ["chroot", root, "/bin/sh", "-ec", script]
    return subprocess.run(line, capture_output=True, text=True, env=VARIABLES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", type=Path)
    parser.add_argument("--system", type=Path, default=Path("/var/tmp/ptxrun-bookworm"), help="made where it is missing")
    args = parser.parse_args()
    if not (args.system / "complete").exists():
        shutil.rmtree(args.system, ignore_errors=True)
        line = ["debootstrap", "--variant=minbase", "--include=python3,python3-venv", "bookworm", args.system]
        subprocess.run([*line, "http://deb.debian.org/debian"], check=True, stdout=subprocess.DEVNULL)
        (args.system / "complete").touch()

    def one(pattern: str) -> Path:
        return next(args.packages.glob(pattern))

    wheel, deb = one("*x86_64.whl"), one("*_amd64.deb")
    tarball = one("*-x86_64-linux.tar.gz")
    sample = Path(__file__).resolve().parent.parent / "samples/matmul_tiled"
    scripts = {
        wheel: f"/v/bin/pip install -q --no-index --disable-pip-version-check /p/{wheel.name}; "
        "/v/bin/ptxrun /p/matmul_tiled/matmul.toml; "
        "/v/bin/python -c 'import ptxrun; print(ptxrun.check(\"kernel void k() {}\", kind=\"opencl\"))'; "
        f"/v/bin/ptxrun {FOUND}",
        deb: f"dpkg -i /p/{deb.name} >/dev/null; ptxrun /usr/share/doc/ptxrun/matmul_tiled/matmul.toml; "
        f"ptxrun {FOUND}",
        tarball: f"tar -xf /p/{tarball.name} -C /opt; /opt/ptxrun-*/bin/ptxrun /p/matmul_tiled/matmul.toml; "
        f"/opt/ptxrun-*/bin/ptxrun {FOUND}",
    }
    failed = False
    for package, script in scripts.items():
        root = args.system.with_name(args.system.name + "-test")
        shutil.rmtree(root, ignore_errors=True)
        subprocess.run(["cp", "-a", args.system, root], check=True)
        # A container has it too.
        subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
        try:
            if package == wheel:
                # What a user has already: an environment with pip.
                chroot(root, "python3 -m venv /v").check_returncode()
            (root / "p").mkdir()
            shutil.copy(package, root / "p")
            shutil.copytree(sample, root / "p/matmul_tiled")
            start = time.monotonic()
            done = chroot(root, script)
            seconds = time.monotonic() - start
            good = done.returncode == 0 and all(text in done.stdout for text in [CHECKED, *NAMES])
            for tool in ("cc", "cargo"):
                good &= chroot(root, f"command -v {tool}").returncode != 0
            failed |= not good or seconds > LIMIT
            size = package.stat().st_size / 2**20
            print(f"{'ok    ' if good else 'FAILED'}  {seconds:5.2f} s  {size:5.2f} MiB  {package.name}")
            print("".join(f"    {line}\n" for line in (done.stdout + done.stderr).splitlines()), end="")
        finally:
            subprocess.run(["umount", root / "proc"], check=True)
            shutil.rmtree(root, ignore_errors=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
