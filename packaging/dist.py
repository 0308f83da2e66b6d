#!/usr/bin/env python3
"""Builds what is shipped: a wheel, a tarball, a Debian package, symbols apart, checksums. `cargo xtask dist` runs it.

The same sources, toolchain and folder give the same bytes: times come from the last commit, members are in order.
Programs are linked against stubs of glibc 2.28 (from the package `ziglang`, which is only asked for these), so that
they run on every Linux with that version or a later one; without it, the wheel's tag says which glibc they need.

`--machine aarch64` makes packages for that processor, on any: Debian's gcc-aarch64-linux-gnu links them.
"""

import argparse
import base64
import dataclasses
import gzip
import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = "libptxrun_core.so"
#: Libraries beside it, as cargo names them, and as programs look for them.
BESIDE = {"libcudart.so": "libcudart.so.13", "libcudart12.so": "libcudart.so.12", "libnvjitlink_loader.so": "libnvJitLink.so.13"}
#: What each library exports, and nothing else. ptxrun-core/src/lib.rs says which face a name belongs to.
EXPORTS = {
    CORE: r"cu[A-Z]\w*|nvml[A-Z]\w*|cl(IcdGetPlatformIDsKHR|GetPlatformInfo|GetExtensionFunctionAddress)|ptx_run"
    r"|nvJitLink[A-Z]\w*|ptxrun_(main|request|release|host_pointer)",
    "libcudart.so.13": r"(__)?cuda[A-Z]\w*",
    "libcudart.so.12": r"(__)?cuda[A-Z]\w*",
    "libnvJitLink.so.13": r"nvJitLink[A-Z]\w*|__nvJitLink[A-Z]\w*_13_\d",
}
#: One name of each face, which must be there.
FACES = {
    CORE: ["cuInit", "nvmlInit_v2", "clIcdGetPlatformIDsKHR", "ptx_run", "nvJitLinkCreate", "ptxrun_main",
           "ptxrun_request", "ptxrun_host_pointer"],
    "libcudart.so.13": ["cudaMalloc"],
    "libcudart.so.12": ["cudaMalloc"],
    "libnvJitLink.so.13": ["nvJitLinkCreate", "__nvJitLinkCreate_13_0"],
}
PACKAGES = ["ptxrun-core", "ptxrun-launcher", "cuda-runtime", "cuda-runtime-12", "nvjitlink-loader"]
#: Largest sizes: on disk, and packed.
DISK, PACKED = 30 << 20, 12 << 20


@dataclasses.dataclass(frozen=True)
class Machine:
    """A processor, by the names that its tools and packages go by."""

    name: str
    debian: str

    @property
    def triple(self) -> str:
        return f"{self.name}-linux-gnu"

    @property
    def rust(self) -> str:
        return f"{self.name}-unknown-linux-gnu"

    @property
    def foreign(self) -> bool:
        return platform.machine() != self.name

    def tool(self, name: str) -> str:
        """gcc, or a program of binutils."""
        return f"{self.triple}-{name}" if self.foreign else name

    def environment(self, stubs: Path | None) -> dict[str, str]:
        """Of cargo."""
        if not self.foreign:
            return {"LIBRARY_PATH": str(stubs)} if stubs else {}
        key = f"CARGO_TARGET_{self.rust.upper().replace('-', '_')}"
        # A compiler for another processor does not look at LIBRARY_PATH.
        flags = {f"{key}_RUSTFLAGS": f"-Clink-arg=-L{stubs / self.triple}"} if stubs else {}
        return {f"{key}_LINKER": self.tool("gcc"), **flags}


MACHINES = [Machine("x86_64", "amd64"), Machine("aarch64", "arm64")]


def output(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def stubs(folder: Path, machine: Machine) -> Path | None:
    """A folder for LIBRARY_PATH whose libraries have the symbols of glibc 2.28; made once."""
    libraries = folder / machine.triple
    if (libraries / "libgcc_s.so").exists():
        return folder
    if subprocess.run([sys.executable, "-c", "import ziglang"], capture_output=True).returncode:
        return None
    libraries.mkdir(parents=True, exist_ok=True)
    cache = folder / f"zig-{machine.name}"
    source = folder / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", f"{machine.triple}.2.28"]
    names = {"m": "m.so.6", "pthread": "pthread.so.0", "dl": "dl.so.2", "rt": "rt.so.1", "util": "util.so.1"}
    line = [*zig, source, "-o", folder / "empty", *(f"-l{name}" for name in names)]
    subprocess.run(line, check=True, env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(cache)})
    (libc,) = cache.glob("o/*/libc.so.6")
    for library in libc.parent.glob("lib*.so.*"):
        shutil.copy(library, libraries)
    (rest,) = cache.glob("o/*/libc_nonshared.a")
    shutil.copy(rest, libraries)
    for name, file in names.items():
        (libraries / f"lib{name}.so").symlink_to(f"lib{file}")
    (libraries / "libc.so").write_text(f"GROUP ( {libraries}/libc.so.6 {libraries}/libc_nonshared.a )\n")
    # This machine's libgcc_s asks for a later glibc; a stub has only the names that programs use.
    versions: dict[str, list[str]] = {}
    real = output(machine.tool("gcc"), "-print-file-name=libgcc_s.so.1").strip()
    for line in output(machine.tool("nm"), "-D", "--defined-only", real).splitlines():
        found = re.fullmatch(r"\w+ T (_Unwind\w+)@@?(\S+)", line)
        if found:
            versions.setdefault(found[2], []).append(found[1])
    code = "".join(f"void {name}(void) {{}}\n" for names in versions.values() for name in names)
    script = "".join(f"{v} {{ global: {' '.join(n + ';' for n in names)} }};\n" for v, names in versions.items())
    (folder / "gcc_s.c").write_text(code)
    (folder / "gcc_s.map").write_text(script)
    line = [machine.tool("gcc"), "-shared", "-nostdlib", "-fPIC", folder / "gcc_s.c", "-o", libraries / "libgcc_s.so.1"]
    subprocess.run([*line, "-Wl,-soname,libgcc_s.so.1", f"-Wl,--version-script={folder / 'gcc_s.map'}"], check=True)
    (libraries / "libgcc_s.so").symlink_to("libgcc_s.so.1")
    return folder


def glibc(file: Path) -> tuple[int, int]:
    """The glibc that a program needs."""
    found = re.findall(r"GLIBC_(\d+)\.(\d+)", output("readelf", "--wide", "--version-info", str(file)))
    return max((int(a), int(b)) for a, b in found)


def judge(file: Path, name: str) -> None:
    """Refuses what must not be shipped: a file that is installed as `name`."""
    if name in EXPORTS:
        lines = output("nm", "-D", "--defined-only", "--format=posix", str(file)).splitlines()
        # Versions are names too: those of the libraries that programs ask for.
        names = {line.split()[0].split("@")[0] for line in lines if line.split()[0] not in BESIDE.values()}
        foreign = sorted(n for n in names if not re.fullmatch(EXPORTS[name], n))
        if foreign:
            sys.exit(f"{name} exports names that are documented nowhere: {', '.join(foreign[:10])}")
        missing = [n for n in FACES[name] if n not in names]
        if missing:
            sys.exit(f"{name} does not export {', '.join(missing)}")
    dynamic = output("readelf", "-d", str(file))
    if "RPATH" in dynamic or "RUNPATH" in dynamic:
        sys.exit(f"{name} has a search path of its own")
    foreign = set(re.findall(r"NEEDED.*\[(\S+)\]", dynamic)) - {
        "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libgcc_s.so.1",
        "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
    }
    if foreign:
        sys.exit(f"{name} needs {', '.join(sorted(foreign))}")


def build(folder: Path, profile: str, machine: Machine) -> tuple[dict[str, Path], dict[str, Path]]:
    """Builds and strips; the shipped files by name, and their symbols."""
    found = stubs(folder / "stubs", machine)
    environment = {**os.environ, **machine.environment(found)}
    if not found:
        print("note: without the Python package `ziglang`, programs need this machine's glibc", file=sys.stderr)
    options = ["--profile", profile, *(["--target", machine.rust] if machine.foreign else [])]
    options += [word for p in PACKAGES for word in ("-p", p)]
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / (machine.rust if machine.foreign else "")
    target /= "debug" if profile == "dev" else profile
    # Cargo does not know that other libraries are other programs: these are linked anew.
    linked, against = target / "linked-against", str(found)
    if not linked.exists() or linked.read_text() != against:
        subprocess.run(["cargo", "clean", *options], check=True, cwd=ROOT)
    subprocess.run(["cargo", "build", *options], check=True, cwd=ROOT, env=environment)
    linked.write_text(against)
    built = {CORE: CORE, "ptxrun-launcher": "ptxrun", **BESIDE}
    files, symbols = {}, {}
    stripped = folder / f"stripped-{machine.name}"
    objcopy, strip = machine.tool("objcopy"), machine.tool("strip")
    shutil.rmtree(stripped, ignore_errors=True)
    stripped.mkdir(parents=True)
    for source, name in built.items():
        file, apart = stripped / name, stripped / f"{name}.debug"
        shutil.copy(target / source, file)
        subprocess.run([objcopy, "--only-keep-debug", file, apart], check=True)
        subprocess.run([strip, "--strip-unneeded", file], check=True)
        subprocess.run([objcopy, f"--add-gnu-debuglink={apart}", file], check=True)
        files[name], symbols[f"{name}.debug"] = file, apart
    return files, symbols


class Tar:
    """A tarball whose bytes depend on its members alone."""

    def __init__(self, epoch: int) -> None:
        self.epoch, self.members = epoch, {}

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        self.members[name] = ("file", data, mode)

    def link(self, name: str, to: str) -> None:
        self.members[name] = ("link", to.encode(), 0o777)

    def bytes(self) -> bytes:
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
            folders: set[str] = set()
            for name, (kind, data, mode) in sorted(self.members.items()):
                parts = name.split("/")[:-1]
                for i in range(1, len(parts) + 1):
                    folder = "/".join(parts[:i])
                    if folder not in folders and folder != ".":
                        folders.add(folder)
                        info = tarfile.TarInfo(folder)
                        info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o755, self.epoch
                        tar.addfile(info)
                info = tarfile.TarInfo(name)
                info.mode, info.mtime = mode, self.epoch
                info.uname = info.gname = "root"
                if kind == "link":
                    info.type, info.linkname = tarfile.SYMTYPE, data.decode()
                    tar.addfile(info)
                else:
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
        return raw.getvalue()

    def gz(self) -> bytes:
        return gzip.compress(self.bytes(), 9, mtime=self.epoch)

    def xz(self) -> bytes:
        import lzma

        return lzma.compress(self.bytes(), preset=9)


def ar(members: list[tuple[str, bytes]], epoch: int) -> bytes:
    """An archive as dpkg reads it."""
    out = b"!<arch>\n"
    for name, data in members:
        out += f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data
        out += b"\n" * (len(data) % 2)
    return out


def tree(files: dict[str, Path], pages: Path, prefix: str, epoch: int) -> Tar:
    """An installation below `prefix`: the command, the libraries, pages, completions, one sample."""
    tar = Tar(epoch)
    tar.add(f"{prefix}bin/ptxrun", files["ptxrun"].read_bytes(), 0o755)
    library = f"{prefix}lib/ptxrun"
    for name in (CORE, *BESIDE.values()):
        tar.add(f"{library}/{name}", files[name].read_bytes())
    for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libgpuocelot.so", "libopencl_icd.so"):
        tar.link(f"{library}/{name}", CORE)
    places = {"man": "share/man/man1", "bash": "share/bash-completion/completions",
              "zsh": "share/zsh/vendor-completions", "fish": "share/fish/vendor_completions.d"}
    for kind, place in places.items():
        for page in sorted((pages / kind).glob("*")) if (pages / kind).is_dir() else []:
            data = page.read_bytes()
            name = page.name
            if kind == "man":
                data, name = gzip.compress(data, 9, mtime=0), f"{name}.gz"
            tar.add(f"{prefix}{place}/{name}", data)
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"):
        tar.add(f"{prefix}share/doc/ptxrun/{name}", (ROOT / name).read_bytes())
    sample = ROOT / "samples/matmul_tiled"
    for file in sorted(sample.iterdir()):
        tar.add(f"{prefix}share/doc/ptxrun/matmul_tiled/{file.name}", file.read_bytes())
    return tar


def wheel(files: dict[str, Path], tag: str, epoch: int) -> tuple[str, bytes]:
    """The wheel; what it says of itself stands in python/pyproject.toml."""
    project = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    members: dict[str, tuple[bytes, int]] = {}
    package = ROOT / "python/ptxrun"
    for file in sorted(package.rglob("*")):
        if file.suffix in (".py", ".typed") and "__pycache__" not in file.parts:
            members[f"ptxrun/{file.relative_to(package)}"] = (file.read_bytes(), 0o644)
    for library in (CORE, *BESIDE.values()):
        members[f"ptxrun/lib/{library}"] = (files[library].read_bytes(), 0o755)
    # The assembler that programs call is a program; what pip makes of the command is Python's.
    members["ptxrun/lib/ptxrun"] = (files["ptxrun"].read_bytes(), 0o755)
    info = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", f"Summary: {project['description']}",
             f"License: {project['license']['text']}", f"Keywords: {','.join(project['keywords'])}",
             f"Requires-Python: {project['requires-python']}"]
    lines += [f"Classifier: {c}" for c in project["classifiers"]]
    lines += [f"Project-URL: {label}, {url}" for label, url in project["urls"].items()]
    for extra, needs in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {need} ; extra == "{extra}"' for need in needs]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / "python/README.md").read_text()]
    points = "[console_scripts]\n" + "".join(f"{k} = {v}\n" for k, v in project["scripts"].items())
    for group, entries in project["entry-points"].items():
        points += f"\n[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items())
    members[f"{info}/METADATA"] = ("\n".join(lines).encode(), 0o644)
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in tag.split("."))
    members[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: ptxrun-dist\nRoot-Is-Purelib: false\n{tags}".encode(), 0o644)
    members[f"{info}/entry_points.txt"] = (points.encode(), 0o644)
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        members[f"{info}/licenses/{licence}"] = ((ROOT / licence).read_bytes(), 0o644)
    record = ""
    for path, (data, _) in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    members[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    import time

    date = time.gmtime(max(epoch, 315532800))[:6]
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, (data, mode) in members.items():
            entry = zipfile.ZipInfo(path, date)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
            archive.writestr(entry, data)
    return f"{name}-{version}-py3-none-{tag}.whl", raw.getvalue()


def deb(files: dict[str, Path], pages: Path, version: str, machine: str, needs: tuple[int, int], epoch: int) -> bytes:
    data = tree(files, pages, "./usr/", epoch)
    size = sum(len(content) for kind, content, _ in data.members.values() if kind == "file")
    control = Tar(epoch)
    control.add("./control", f"""\
Package: ptxrun
Version: {version}
Architecture: {machine}
Maintainer: The ptxrun authors <ptxrun@users.noreply.github.com>
Installed-Size: {-(-size // 1024)}
Depends: libc6 (>= {needs[0]}.{needs[1]}), libgcc-s1 | libgcc1
Section: devel
Priority: optional
Homepage: https://github.com/ptxrun/ptxrun
Description: check, run and time NVIDIA PTX and OpenCL C on any CPU
 Verifies PTX as NVIDIA's assembler does, executes it with the results of a real
 GPU, models what it would cost on one, and brings libraries by which programs
 of CUDA and OpenCL run on the processor.
""".encode())
    return ar([("debian-binary", b"2.0\n"), ("control.tar.gz", control.gz()), ("data.tar.xz", data.xz())], epoch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "target/packages", help="where the packages go")
    parser.add_argument("--profile", default="dist", help="cargo's profile")
    parser.add_argument("--machine", choices=[machine.name for machine in MACHINES], default=platform.machine(),
                        help="the processor that the packages are for")
    parser.add_argument("--pages", type=Path, help="manual pages and completions (cargo xtask pages)")
    parser.add_argument("--judge", type=Path, nargs="+", metavar="LIBRARY", help="only judge libraries that cargo built")
    args = parser.parse_args()
    if args.judge:
        for file in args.judge:
            judge(file, BESIDE.get(file.name, file.name))
            print(f"{file}: nothing against it")
        return
    (machine,) = (machine for machine in MACHINES if machine.name == args.machine)
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct"))
    work = args.out / "work"
    work.mkdir(parents=True, exist_ok=True)
    files, symbols = build(work, args.profile, machine)
    for name, file in files.items():
        judge(file, name)
    needs = max(glibc(file) for file in files.values())
    tag = f"manylinux_{needs[0]}_{max(needs[1], 28) if needs <= (2, 28) else needs[1]}_{machine.name}"
    pages = args.pages or work / "pages"
    made = dict([wheel(files, tag, epoch)])
    made[f"ptxrun-{version}-{machine.name}-linux.tar.gz"] = tree(files, pages, f"ptxrun-{version}/", epoch).gz()
    made[f"ptxrun_{version}_{machine.debian}.deb"] = deb(files, pages, version, machine.debian, max(needs, (2, 28)), epoch)
    apart = Tar(epoch)
    for name, file in symbols.items():
        apart.add(f"ptxrun-{version}-symbols/{name}", file.read_bytes())
    made[f"ptxrun-{version}-{machine.name}-symbols.tar.xz"] = apart.xz()
    # One of before may have been for another glibc.
    for old in args.out.glob(f"*_{machine.name}.whl"):
        old.unlink()
    sums = ""
    for name, data in sorted(made.items()):
        (args.out / name).write_bytes(data)
        sums += f"{hashlib.sha256(data).hexdigest()}  {name}\n"
        print(f"{len(data) / 2**20:6.2f} MiB  {name}")
    # Packages for another processor may lie beside these.
    known = args.out / "SHA256SUMS"
    others = known.read_text().splitlines(keepends=True) if known.exists() else []
    others = [line for line in others if line.split()[1] not in made and (args.out / line.split()[1]).exists()]
    known.write_text("".join(sorted([*others, *sums.splitlines(keepends=True)], key=lambda line: line.split()[1])))
    disk = sum(file.stat().st_size for file in files.values())
    print(f"{disk / 2**20:6.2f} MiB  installed; glibc {needs[0]}.{needs[1]}")
    for name, data in made.items():
        if "symbols" not in name and len(data) > PACKED:
            sys.exit(f"{name} is larger than {PACKED >> 20} MiB")
    if disk > DISK:
        sys.exit(f"an installation is larger than {DISK >> 20} MiB")


if __name__ == "__main__":
    main()
