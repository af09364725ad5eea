"""Runs the tests of one module: functions called test_…, and unittest's cases."""

import importlib
import inspect
import os
import sys
import traceback
import unittest

sys.path.append(os.getcwd())
module = importlib.import_module(sys.argv[1])
failed = passed = 0
for name, test in sorted(vars(module).items()):
    if name.startswith("test") and inspect.isfunction(test) and not inspect.signature(test).parameters:
        try:
            test()
            passed += 1
        except BaseException:
            failed += 1
            print(f"FAIL: {name}", file=sys.stderr)
            traceback.print_exc()

suite = unittest.defaultTestLoader.loadTestsFromModule(module)
if suite.countTestCases():
    result = unittest.TextTestRunner(verbosity=0).run(suite)
    failed += len(result.failures) + len(result.errors)
    passed += result.testsRun - len(result.failures) - len(result.errors) - len(result.skipped)

print(f"{passed} passed", flush=True)
sys.exit(1 if failed else 0)
