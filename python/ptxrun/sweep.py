"""``ptxrun sweep FILE.toml``: many launch files on many devices with many options, as one table.

A cell is one launch file on one device with one set of options. It runs as a process of its own (``ptxrun profile
--json``), so that whatever goes wrong in it is a line of the table and no more. Cells that are in the output folder
already are not run again.

.. code-block:: toml

    launch = ["samples/vecadd/vecadd.toml", "samples/nbody/*.toml"]  # files, or patterns
    devices = "all"                    # or a list: ["GTX 280", "sm_80", "h200"]
    timeout = 60                       # seconds for a cell

    [options]                          # a name for each set; without it there is one, "default"
    default = ""
    few-registers = "--regs 32"
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import hashlib
import itertools
import json
import os
import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

from . import _command
from ._errors import Error

#: Columns of the table, with what they hold.
COLUMNS: dict[str, str] = {
    "launch_file": "string",
    "device": "string",
    "options": "string",
    "module": "string",
    "kernel": "string",
    "ok": "bool",
    "error": "string",
    "microseconds": "double",
    "cycles": "int64",
    "warp_instructions": "int64",
    "achieved_occupancy": "double",
    "limiter": "string",
    "seconds": "double",
}


@dataclasses.dataclass(frozen=True)
class Cell:
    """One launch file on one device with one set of options."""

    #: The launch file.
    launch: str
    #: The device.
    device: str
    #: The name of the options.
    options: str
    #: The options themselves.
    words: tuple[str, ...]
    #: Seconds that it may take.
    timeout: float

    @property
    def key(self) -> str:
        """The name of its file in the output folder."""
        text = json.dumps([self.launch, self.device, self.options, self.words])
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def cells(plan: dict[str, Any], folder: Path) -> list[Cell]:
    """The cells of a plan; paths are relative to ``folder``.

    :raises Error: for a key that there is none of, or a pattern that matches nothing.
    """
    unknown = set(plan) - {"launch", "devices", "options", "timeout"}
    if unknown:
        raise Error(f"unknown key {sorted(unknown)[0]!r}; there are launch, devices, options, timeout")
    if "launch" not in plan:
        raise Error("`launch` is missing: the launch files, as a list")
    patterns = [plan["launch"]] if isinstance(plan["launch"], str) else plan["launch"]
    files: list[str] = []
    for pattern in patterns:
        found = sorted(str(p) for p in folder.glob(pattern))
        if not found:
            raise Error(f"launch: nothing matches {pattern!r} in {folder}")
        files += [f for f in found if f not in files]
    devices = plan.get("devices", ["H200"])
    if devices == "all":
        devices = [d["name"] for d in _command.ask("devices")["devices"]]
    elif isinstance(devices, str):
        devices = [devices]
    options = plan.get("options", {"default": ""})
    timeout = float(plan.get("timeout", 300))
    return [
        Cell(file, device, name, tuple(shlex.split(words)), timeout)
        for file in files
        for device in devices
        for name, words in options.items()
    ]


def run_cell(cell: Cell) -> list[dict[str, Any]]:
    """Runs a cell; a row for each launch, or one that says what went wrong."""
    start = time.monotonic()
    row = {"launch_file": cell.launch, "device": cell.device, "options": cell.options}
    words = ["profile", cell.launch, "--device", cell.device, *cell.words, "--json"]

    def failed(why: str) -> list[dict[str, Any]]:
        seconds = time.monotonic() - start
        return [{**row, "ok": False, "error": why.strip()[:2000], "seconds": seconds}]

    try:
        done = subprocess.run(
            _command.line(*words),
            capture_output=True,
            text=True,
            timeout=cell.timeout,
            env=_command.environment(),
        )
    except subprocess.TimeoutExpired:
        return failed(f"took longer than {cell.timeout:g} s")
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return failed(done.stderr or f"exit status {done.returncode}")
    launches = answer.get("launches", [])
    if not launches:
        error = answer.get("error", {})
        return failed(error.get("message") or json.dumps(answer.get("refused") or answer))
    seconds = time.monotonic() - start
    rows = []
    for launch in launches:
        report, summary = launch["report"], launch["report"]["summary"]
        rows.append(
            {
                **row,
                "module": launch["module"],
                "kernel": report["kernel"],
                "ok": bool(answer["ok"]),
                "error": None if answer["ok"] else "a check of the launch file does not hold",
                "microseconds": summary["microseconds"],
                "cycles": summary["cycles"],
                "warp_instructions": summary["warp_instructions"],
                "achieved_occupancy": summary["achieved_occupancy"],
                "limiter": report["limiter"]["sentence"],
                "seconds": seconds / len(launches),
            }
        )
    return rows


def _keep(folder: Path, cell: Cell, rows: list[dict[str, Any]]) -> None:
    """Writes a cell's rows; whole or not at all."""
    fresh = folder / f"{cell.key}.{os.getpid()}.new"
    fresh.write_text(json.dumps(rows))
    fresh.rename(folder / f"{cell.key}.json")


def _missing(all_cells: Iterable[Cell], folder: Path) -> list[Cell]:
    return [cell for cell in all_cells if not (folder / f"{cell.key}.json").is_file()]


Result = tuple[Cell, list[dict[str, Any]]]


def _lost(cell: Cell, error: BaseException) -> list[dict[str, Any]]:
    row = {"launch_file": cell.launch, "device": cell.device, "options": cell.options}
    return [{**row, "ok": False, "error": f"the worker was lost: {error}"[:2000], "seconds": None}]


def _local(todo: list[Cell], workers: int | None) -> Iterator[Result]:
    with concurrent.futures.ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        futures = {pool.submit(run_cell, cell): cell for cell in todo}
        for future in concurrent.futures.as_completed(futures):
            yield futures[future], future.result()


def _ray(todo: list[Cell], _workers: int | None) -> Iterator[Result]:
    import ray

    if not ray.is_initialized():
        address = os.environ.get("RAY_ADDRESS")
        ray.init(address=address, log_to_driver=False) if address else ray.init(log_to_driver=False)
    # Ray starts a cell again when its worker goes away; the third time it is given up.
    task = ray.remote(max_retries=2)(run_cell)
    waiting = {}
    left = iter(todo)
    slots = max(int(ray.cluster_resources().get("CPU", 1)) * 4, 4)
    while True:
        # A few more than there are processors, so that a killed worker concerns few cells.
        for cell in left:
            waiting[task.remote(cell)] = cell
            if len(waiting) >= slots:
                break
        if not waiting:
            return
        done, _ = ray.wait(list(waiting), num_returns=1)
        for reference in done:
            cell = waiting.pop(reference)
            try:
                yield cell, ray.get(reference)
            except ray.exceptions.RayError as error:
                yield cell, _lost(cell, error)


def _dask(todo: list[Cell], workers: int | None) -> Iterator[Result]:
    from distributed import Client, as_completed

    address = os.environ.get("DASK_SCHEDULER_ADDRESS")
    with Client(address) if address else Client(n_workers=workers, threads_per_worker=1) as client:
        slots = max(sum(client.nthreads().values()) * 4, 4)
        left = iter(todo)
        waiting: dict[str, Cell] = {}
        running = as_completed()

        def start(count: int) -> None:
            for cell in itertools.islice(left, count):
                future = client.submit(run_cell, cell, pure=False, retries=2)
                waiting[future.key] = cell
                running.add(future)

        start(slots)
        for future in running:
            cell = waiting.pop(future.key)
            error = future.exception()
            found = _lost(cell, error) if error else future.result()
            # Results are kept by workers: those that go with one are made again, for as long as they are wanted.
            future.release()
            start(1)
            yield cell, found


ENGINES: dict[str, Callable[[list[Cell], int | None], Iterator[Result]]] = {
    "local": _local,
    "ray": _ray,
    "dask": _dask,
}


def rows(all_cells: Iterable[Cell], folder: Path) -> list[dict[str, Any]]:
    """The rows of all cells that have run, in the order of the plan."""
    found: list[dict[str, Any]] = []
    for cell in all_cells:
        file = folder / f"{cell.key}.json"
        if file.is_file():
            found += json.loads(file.read_text())
    return found


def write_table(found: list[dict[str, Any]], file: Path) -> None:
    """Writes rows as Parquet, or as JSON lines where the file ends in ``.jsonl``."""
    if file.suffix == ".jsonl":
        file.write_text("".join(json.dumps({c: r.get(c) for c in COLUMNS}) + "\n" for r in found))
        return
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Error(f"{file}: Parquet needs pyarrow (pip install ptxrun[sweep]); .jsonl needs nothing") from None
    kinds = {"string": pyarrow.string(), "bool": pyarrow.bool_(), "double": pyarrow.float64(), "int64": pyarrow.int64()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    columns = {name: [row.get(name) for row in found] for name in COLUMNS}
    fresh = file.with_suffix(".new")
    pyarrow.parquet.write_table(pyarrow.table(columns, schema=schema), fresh)
    fresh.rename(file)


def sweep(
    plan: str | Path | dict[str, Any],
    output: str | Path = "sweep.parquet",
    engine: str = "local",
    workers: int | None = None,
    shard: tuple[int, int] | None = None,
) -> list[dict[str, Any]]:
    """Runs the cells of a plan that have not run yet, and writes the table; its rows.

    ``plan`` is a file or what it would hold; ``engine`` is ``"local"``, ``"ray"`` or ``"dask"``; ``shard`` ``(i, n)``
    runs every ``n``-th cell from the ``i``-th on and writes no table. Results of cells are kept in ``OUTPUT.cells``.
    """
    if engine not in ENGINES:
        raise Error(f"engine {engine!r}: there are {', '.join(ENGINES)}")
    data, base = _read(plan)
    output = Path(output)
    folder = output.with_name(output.name + ".cells")
    folder.mkdir(parents=True, exist_ok=True)
    everything = cells(data, base)
    mine = everything[shard[0] :: shard[1]] if shard else everything
    todo = _missing(mine, folder)
    for n, (cell, found) in enumerate(ENGINES[engine](todo, workers), 1):
        _keep(folder, cell, found)
        if sys.stderr.isatty():
            print(f"\r{n} of {len(todo)} cells", end="", file=sys.stderr)
    table = rows(everything, folder)
    if shard is None:
        write_table(table, output)
    return table


def _read(plan: str | Path | dict[str, Any]) -> tuple[dict[str, Any], Path]:
    if isinstance(plan, dict):
        return plan, Path.cwd()
    try:
        with open(plan, "rb") as file:
            return tomllib.load(file), Path(plan).resolve().parent
    except OSError as error:
        raise Error(f"cannot read {plan}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise Error(f"{plan}: {error}") from None


SLURM = """\
#!/bin/bash
#SBATCH --job-name=ptxrun-sweep
#SBATCH --array=0-{last}
#SBATCH --cpus-per-task={cpus}
#SBATCH --output={log}
# Every task runs one part of the cells; what has run is not run again. When all are done:
#   {collect}
exec {command} --shard "$SLURM_ARRAY_TASK_ID/{tasks}" --workers {cpus}
"""


def slurm(plan: Path, output: Path, tasks: int, cpus: int = 1) -> str:
    """A job array for Slurm that runs a plan in so many tasks."""
    line = [*_command.line("sweep", str(plan.resolve())), "--output", str(output.resolve())]
    command = shlex.join(line)
    log = shlex.quote(str(output.resolve().with_suffix(".%a.log")))
    return SLURM.format(
        last=tasks - 1, tasks=tasks, cpus=cpus, log=log, command=command, collect=f"{command} --collect"
    )


def _shard(text: str) -> tuple[int, int]:
    part, _, whole = text.partition("/")
    if not (part.isdigit() and whole.isdigit() and int(part) < int(whole)):
        raise argparse.ArgumentTypeError("write I/N, with I from 0 to N-1")
    return int(part), int(whole)


def main(words: list[str]) -> int:
    """The command ``ptxrun sweep``; its exit status: 1 where a cell failed, 2 for wrong usage."""
    parser = argparse.ArgumentParser(
        prog="ptxrun sweep", description="Time many launch files on many devices; the results are one table."
    )
    parser.add_argument("plan", metavar="FILE.toml", type=Path, help="launch files, devices and options")
    parser.add_argument("--output", type=Path, default=Path("sweep.parquet"), help="the table: .parquet or .jsonl")
    parser.add_argument("--engine", choices=sorted(ENGINES), default="local", help="what runs the cells")
    parser.add_argument("--workers", type=int, help="cells at a time [default: one per core]")
    parser.add_argument("--shard", type=_shard, metavar="I/N", help="run only every N-th cell, from the I-th on")
    parser.add_argument("--collect", action="store_true", help="run nothing: make the table of what has run")
    parser.add_argument("--slurm", type=int, metavar="TASKS", help="print a job array for Slurm instead of running")
    args = parser.parse_args(words)
    try:
        if args.slurm is not None:
            if args.slurm < 1:
                parser.error("--slurm: at least one task")
            cells(*_read(args.plan))
            print(slurm(args.plan, args.output, args.slurm, args.workers or 1), end="")
            return 0
        if args.collect:
            everything = cells(*_read(args.plan))
            found = rows(everything, args.output.with_name(args.output.name + ".cells"))
            write_table(found, args.output)
        else:
            found = sweep(args.plan, args.output, args.engine, args.workers, args.shard)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    failures = [row for row in found if not row["ok"]]
    print(f"{len(found)} launches, {len(failures)} failed: {args.output}")
    return 1 if failures else 0
