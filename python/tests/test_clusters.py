"""Sweeps on clusters of two workers, one of which is killed in the middle.

``SWEEP_CELLS`` asks for more cells than a few: ``SWEEP_CELLS=2000 pytest -s tests/test_clusters.py``.
"""

import collections
import os
import signal
import threading
import time

import pytest

from ptxrun import _command, sweep

pytest.importorskip("pyarrow")

#: Cells of a sweep.
CELLS = int(os.environ.get("SWEEP_CELLS", "24"))


@pytest.fixture
def plan(samples):
    """A plan of so many cells: devices, and sets of options."""
    names = [device["name"] for device in _command.ask("devices")["devices"]]
    devices = names[: min(CELLS // 4, len(names))]
    sets = -(-CELLS // len(devices))
    # A block of 256 threads with more than 32 registers each has no place on the oldest devices.
    assert sets <= 24
    options = {f"registers-{8 + n}": f"--regs {8 + n}" for n in range(sets)}
    return {"launch": [str((samples / "vecadd/vecadd.toml").relative_to("/"))], "devices": devices, "options": options}


def runs_with_a_killed_worker(engine, plan, folder, monkeypatch):
    """Every cell has its row, and no cell has run twice but those that the killed worker had."""
    # Patterns of plans are relative.
    monkeypatch.chdir("/")
    starts = folder / "starts"
    starts.touch()
    file = str(starts)

    def counted(cell):
        import os

        from ptxrun import sweep

        with open(file, "a") as out:
            out.write(f"{os.getpid()} {cell.key}\n")
        return sweep.run_cell(cell)

    monkeypatch.setattr(sweep, "run_cell", counted)
    expected = sweep.cells(plan, sweep.Path("/"))
    assert len(expected) >= CELLS
    killed = []

    def kill():
        while len(lines := starts.read_text().splitlines()) < len(expected) // 2:
            time.sleep(0.01)
        killed.append(int(lines[-1].split()[0]))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    begin = time.monotonic()
    table = sweep.sweep(plan, folder / "out.parquet", engine=engine)
    seconds = time.monotonic() - begin
    assert killed, "nobody was killed"
    assert killed[0] != os.getpid()
    assert all(row["ok"] for row in table), [row["error"] for row in table if not row["ok"]]
    # A cell has a row for each launch of its file.
    rows = collections.Counter((row["device"], row["options"]) for row in table)
    assert rows.keys() == {(cell.device, cell.options) for cell in expected}
    assert len(set(rows.values())) == 1, rows
    ran = collections.defaultdict(list)
    for line in starts.read_text().splitlines():
        pid, key = line.split()
        ran[key].append(int(pid))
    assert ran.keys() == {cell.key for cell in expected}
    assert len({pid for pids in ran.values() for pid in pids}) >= 2, "two workers"
    again = {key: pids for key, pids in ran.items() if len(pids) > 1}
    assert all(pids[:-1] == [killed[0]] * (len(pids) - 1) for pids in again.values()), again
    # One was running; results of a few more may have been with the worker still.
    assert 1 <= len(again) <= 8, again
    print(f"\n{engine}: {len(expected)} cells in {seconds:.1f} s, worker {killed[0]} killed, {len(again)} cells run again")


def test_ray(plan, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        runs_with_a_killed_worker("ray", plan, tmp_path, monkeypatch)
    finally:
        ray.shutdown()


def test_dask(plan, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", cluster.scheduler_address)
        runs_with_a_killed_worker("dask", plan, tmp_path, monkeypatch)
