"""numba-cuda's own tests, module by module, each in a process of its own, with the reasons of what does not pass.

    ptxrun exec -- python3 numba_tests.py                    everything
    ptxrun exec -- python3 numba_tests.py cudapy.test_math   some modules

NUMBA_TESTS_TIMEOUT is the time limit of a module in seconds (600). The exit status is 1 if a test fails that KNOWN does not
name.
"""
import collections
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

FOLDERS = ["cudadrv", "cudapy", "nocuda", "nrt", "doc_examples", "core", "cudasim"]
# Failures that are expected, by a part of the test's name, and why.
KNOWN = {
    "test_ipc.": "handles of cuda-bindings 13.5 have no `reserved`, which numba-cuda reads; with 13.0 they pass",
    "CUDAAndCPUCachingTest": "numba and numba-cuda take one another's cache index for stale; no device is asked",
    "test_dump_assembly": "wants nothing on standard error, where numba-cuda warns that nvJitLink is missing",
    "test_efficient_launch_configuration": "wants no warning; numba-cuda warns that nvJitLink is missing",
}
RUNNER = r"""
import json, sys, time, unittest

out = open(sys.argv[1], "a", buffering=1)

def say(kind, test, reason=""):
    out.write(json.dumps([kind, getattr(test, "id", lambda: str(test))(), reason]) + "\n")

def last_line(error):
    import traceback
    text = "".join(traceback.format_exception_only(error[0], error[1])).strip()
    return text[-1500:]

class Result(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        self.began, self.wrong = time.time(), False
        say("start", test)
    def stopTest(self, test):
        say("stop", test, f"{time.time() - self.began:.2f}")
        super().stopTest(test)
    def addSuccess(self, test): say("passed", test)
    def addSkip(self, test, reason): say("skipped", test, reason)
    def addFailure(self, test, error): say("failed", test, last_line(error))
    def addError(self, test, error):
        # pytest.skip, which the tests use here and there.
        say("skipped" if error[0].__name__ == "Skipped" else "failed", test, last_line(error))
    def addExpectedFailure(self, test, error): say("passed", test, "expected failure")
    def addUnexpectedSuccess(self, test): say("failed", test, "unexpected success")
    def addSubTest(self, test, subtest, error):
        if error is not None:
            say("failed", test, f"{subtest._subDescription()}: {last_line(error)}")

SKIPPED = {
    "test_device_arch_specific": "a tensor map in 4 bytes of shared memory: a fault here, and it ends the context",
    "undersubscribe": "fills half of the device's memory, more than this host may have",
    "test_dispatcher_cpointer_arguments": "works on 16 elements of arrays of 10: a fault here, and it ends the context",
    "test_struct_model_type_arr": "writes 10 elements to arrays of 1: a fault here, and it ends the context",
}

def skip_some(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            skip_some(test)
        else:
            for name, reason in SKIPPED.items():
                if test.id().endswith(name):
                    setattr(test, test._testMethodName, unittest.skip(reason)(lambda: None))

try:
    suite = unittest.defaultTestLoader.loadTestsFromName(sys.argv[2])
except BaseException as error:
    # pytest.importorskip of a whole module.
    if type(error).__name__ != "Skipped":
        raise
    say("skipped", sys.argv[2], str(error))
    sys.exit(0)
skip_some(suite)
suite.run(Result())
"""


def modules():
    root = pathlib.Path(importlib.util.find_spec("numba.cuda").origin).parent / "tests"
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("test_*.py")):
            yield "numba.cuda.tests." + ".".join(path.relative_to(root).with_suffix("").parts)


def run(module, limit):
    """The outcome of each test of a module: kind and reason."""
    log = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"numba-tests-{os.getpid()}.jsonl"
    log.write_text("")
    try:
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", RUNNER, str(log), module], timeout=limit,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        end = f"the process ended with status {done.returncode}: " + done.stdout.decode(errors="replace")[-1500:]
        ended = done.returncode != 0
    except subprocess.TimeoutExpired:
        end, ended = f"no end within {limit} s", True
    outcomes, running = {}, None
    for line in log.read_text().splitlines():
        kind, test, reason = json.loads(line)
        if kind == "start":
            running = test
        elif kind == "stop":
            running = None
        # A test counts once; any failed part of it makes it failed.
        elif outcomes.get(test, ("",))[0] != "failed":
            outcomes[test] = kind, reason
    log.unlink()
    if ended:
        outcomes[running or module] = "failed", end
    return outcomes


def main():
    chosen = [m for m in modules() if not sys.argv[1:] or any(word in m for word in sys.argv[1:])]
    limit = float(os.environ.get("NUMBA_TESTS_TIMEOUT", 600))
    totals, start, surprises = collections.Counter(), time.time(), 0
    reasons = collections.defaultdict(list)
    for module in chosen:
        began = time.time()
        outcomes = run(module, limit)
        counts = collections.Counter(kind for kind, _ in outcomes.values())
        totals += counts
        print(f"{module.removeprefix('numba.cuda.tests.')}: {counts['passed']} passed, {counts['failed']} failed, "
              f"{counts['skipped']} skipped, {time.time() - began:.0f} s", flush=True)
        for test, (kind, reason) in outcomes.items():
            if kind != "passed":
                reasons[kind, reason.strip().splitlines()[-1][:200] if reason.strip() else ""].append(test)
            if kind == "failed":
                known = [why for part, why in KNOWN.items() if part in test]
                surprises += not known
                if known:
                    print(f"  KNOWN {test.removeprefix('numba.cuda.tests.')}: {known[0]}", flush=True)
                    continue
                print(f"  FAIL {test.removeprefix('numba.cuda.tests.')}: {reason[-600:]}", flush=True)
    print("\nReasons of what did not pass:")
    for (kind, reason), tests in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"  {len(tests):4} {kind}: {reason}")
    ran = totals["passed"] + totals["failed"]
    print(f"\n{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped; "
          f"{100 * totals['passed'] / max(ran, 1):.1f} % of those that ran passed; {time.time() - start:.0f} s")
    print(f"{totals['failed'] - surprises} of the failures are known ones")
    return 1 if surprises or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
