"""Sweeps over launch files and devices."""

import json
import os
import stat
import subprocess
import sys

import pytest

import ptxrun
from ptxrun import sweep


@pytest.fixture
def plan(samples, tmp_path):
    """A plan of four cells, one of which fails."""
    launch = os.path.relpath(samples / "vecadd/vecadd.toml", tmp_path)
    broken = tmp_path / "broken.toml"
    broken.write_text('modules = ["none.ptx"]\n')
    file = tmp_path / "plan.toml"
    file.write_text(f'launch = ["{launch}", "broken.toml"]\ndevices = ["GTX 280", "H200"]\n')
    return file


def test_local_sweeps_are_resumed_and_keep_failures(plan, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    output = tmp_path / "out.parquet"
    table = sweep.sweep(plan, output)
    assert pyarrow.parquet.read_table(output).num_rows == len(table)
    good = [row for row in table if row["ok"]]
    assert {row["device"] for row in good} == {"GTX 280", "H200"}
    assert all(row["microseconds"] > 0 for row in good)
    bad = [row for row in table if not row["ok"]]
    assert len(bad) == 2 and all("none.ptx" in row["error"] for row in bad)
    # Nothing runs again.
    monkeypatch.setattr(sweep, "run_cell", lambda cell: pytest.fail("it has run"))
    assert sweep.sweep(plan, output) == table


def test_a_worker_that_dies_loses_one_cell(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(sweep._command, "line", lambda *words: ["sh", "-c", "kill -9 $$"])
    table = sweep.sweep(plan, tmp_path / "out.jsonl")
    assert len(table) == 4 and not any(row["ok"] for row in table)


def test_plans_that_are_wrong_say_so(tmp_path):
    file = tmp_path / "plan.toml"
    for text, said in [("lunch = []", "unknown key 'lunch'"), ("launch = ['x*.toml']", "nothing matches")]:
        file.write_text(text)
        with pytest.raises(ptxrun.Error, match=said):
            sweep.sweep(file)
    with pytest.raises(ptxrun.Error, match="there are local, ray, dask"):
        sweep.sweep(file, engine="cloud")


def test_a_job_array_of_slurm(plan, tmp_path):
    output = tmp_path / "out.jsonl"
    script = sweep.slurm(plan, output, tasks=3)
    job = tmp_path / "job.sh"
    job.write_text(script)
    subprocess.run(["bash", "-n", job], check=True)
    # An sbatch that runs the tasks one after the other.
    sbatch = tmp_path / "sbatch"
    sbatch.write_text(
        "#!/bin/bash\n"
        "range=$(sed -n 's/^#SBATCH --array=0-//p' \"$1\")\n"
        'for i in $(seq 0 "$range"); do SLURM_ARRAY_TASK_ID=$i bash "$1" || status=1; done\n'
    )
    sbatch.chmod(sbatch.stat().st_mode | stat.S_IXUSR)
    subprocess.run([sbatch, job], check=True, capture_output=True)
    collect = [sys.executable, "-m", "ptxrun", "sweep", str(plan), "--output", str(output), "--collect"]
    done = subprocess.run(collect, capture_output=True, text=True)
    assert done.returncode == 1, "two cells fail"
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert len([row for row in rows if not row["ok"]]) == 2
    assert {row["device"] for row in rows} == {"GTX 280", "H200"}
